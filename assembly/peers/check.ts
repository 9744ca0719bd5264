import { Held, Next } from "./held";
import { Head, Kind } from "./head";
import { PageEntry } from "./page";
import { Placement } from "./placement";
import { Row } from "./row";
import {
  HEAD_BYTES,
  HELD_BYTES,
  MAGIC,
  MAX_AGE_MS,
  MAX_CLOCK,
  MAX_CONTEXT,
  MAX_IDS,
  MAX_MESSAGE,
  MAX_PAGE_ENTRIES,
  MAX_WORK_MS,
  PAGE_ENTRY,
  PLACEMENT_HEAD,
  ROW_BYTES,
  VERSION,
} from "./wire";

/** What is wrong with a message. */
export const enum Fault {
  None,
  /** Not a message of ours, or damaged. */
  Garbled,
  /** Of another version of the exchange. */
  Version,
  /** Longer than MAX_MESSAGE. */
  Oversized,
  /** Seen before, or too old to tell. */
  Replayed,
  /** From one gateway more than there is room for. */
  Crowded,
  /** Its hashes are made with another secret, so its locations mean nothing here. */
  Hashes,
}
export const FAULTS: i32 = 7;

/** Name of a fault, as in statistics. */
export function faultName(fault: i32): string {
  switch (fault) {
    case Fault.Garbled:
      return "garbled";
    case Fault.Version:
      return "version";
    case Fault.Oversized:
      return "oversized";
    case Fault.Replayed:
      return "replayed";
    case Fault.Hashes:
      return "hashes";
    default:
      return "crowded";
  }
}

/**
 * Whether a message is whole and each of its values possible, before anything of it counts. After `None` every field can be
 * read where the layout says it is.
 */
export function check(at: usize, size: i32): Fault {
  if (size > MAX_MESSAGE) return Fault.Oversized;
  if (size < HEAD_BYTES) return Fault.Garbled;
  const start = load<u32>(at);
  if ((start & 0xffffff) != MAGIC) return Fault.Garbled;
  if (<u8>(start >> 24) != VERSION) return Fault.Version;
  if (Head.gateway(at) == 0 || !isWithin(Head.sentMs(at), 1e15)) return Fault.Garbled;
  switch (Head.kind(at)) {
    case Kind.Update:
      return checkUpdate(at, size);
    case Kind.Page:
      return checkPage(at, size);
    case Kind.Taken:
    case Kind.Ask:
      return size == HEAD_BYTES ? Fault.None : Fault.Garbled;
    default:
      return Fault.Garbled;
  }
}

/** Address of what an update says of held requests. */
@inline
export function heldOf(at: usize): usize {
  return at + HEAD_BYTES;
}

/** Address of the first row of an update. */
@inline
export function rowsOf(at: usize): usize {
  return at + <usize>(HEAD_BYTES + HELD_BYTES);
}

/** Address of the first placement of an update. */
export function placementsOf(at: usize): usize {
  return rowsOf(at) + <usize>(Head.hosts(at) * ROW_BYTES);
}

/** Address of the first entry of a page. */
export function entriesOf(at: usize): usize {
  return at + <usize>(HEAD_BYTES + Head.hosts(at) * 8);
}

function checkUpdate(at: usize, size: i32): Fault {
  const hosts = Head.hosts(at);
  const end = at + <usize>size;
  if (HEAD_BYTES + HELD_BYTES + hosts * ROW_BYTES > size) return Fault.Garbled;
  if (!isHeldPossible(heldOf(at))) return Fault.Garbled;
  for (let i = 0; i < hosts; i++) {
    const row = rowsOf(at) + <usize>(i * ROW_BYTES);
    const whole =
      Row.host(row) != 0 &&
      isWithin(Row.workMs(row), MAX_WORK_MS) &&
      isWithin(Row.contextTokens(row), MAX_CONTEXT * 1.001) &&
      isWithin(Row.newestAgeMs(row), MAX_AGE_MS) &&
      isWithin(Row.clockTokens(row), MAX_CLOCK);
    if (!whole) return Fault.Garbled;
  }
  let place = placementsOf(at);
  for (let i = 0; i < Head.placements(at); i++) {
    if (place + <usize>PLACEMENT_HEAD > end) return Fault.Garbled;
    if (Placement.host(place) >= hosts || Placement.ids(place) > MAX_IDS) return Fault.Garbled;
    place += <usize>Placement.size(place);
    if (place > end) return Fault.Garbled;
  }
  return place == end ? Fault.None : Fault.Garbled;
}

function isHeldPossible(held: usize): bool {
  return (
    Held.next(held) <= Next.Heavy &&
    isWithin(Held.workMs(held), MAX_WORK_MS) &&
    isWithin(Held.waitedMs(held), MAX_AGE_MS) &&
    isWithin(Held.letGoAgeMs(held), MAX_AGE_MS)
  );
}

function checkPage(at: usize, size: i32): Fault {
  const hosts = Head.hosts(at);
  const count = Head.count(at);
  if (count > <u32>MAX_PAGE_ENTRIES) return Fault.Garbled;
  if (HEAD_BYTES + hosts * 8 + <i32>count * PAGE_ENTRY != size) return Fault.Garbled;
  const first = entriesOf(at);
  for (let i: u32 = 0; i < count; i++) {
    const entry = first + <usize>(i * PAGE_ENTRY);
    if (PageEntry.host(entry) >= hosts || PageEntry.tag(entry) == 0) return Fault.Garbled;
  }
  return Fault.None;
}

/** Whether a number is one, and 0 … most. */
@inline
function isWithin(value: f64, most: f64): bool {
  return value >= 0 && value <= most;
}
