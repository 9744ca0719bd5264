import {
  Fault,
  check,
  entriesOf,
  heldOf,
  placementsOf,
  rowsOf,
} from "../../../assembly/peers/check";
import { Held, Next } from "../../../assembly/peers/held";
import { Head, Kind } from "../../../assembly/peers/head";
import { PageEntry } from "../../../assembly/peers/page";
import { Placement } from "../../../assembly/peers/placement";
import { Row } from "../../../assembly/peers/row";
import { HEAD_BYTES, MAX_MESSAGE, PAGE_ENTRY, ROW_BYTES } from "../../../assembly/peers/wire";

const at: usize = heap.alloc(MAX_MESSAGE + 64);

/** An update of two rows and two placements, of 3 and of no ids; returns its length. */
function update(): i32 {
  Head.write(at, Kind.Update, 7);
  Head.setHosts(at, 2);
  Head.setPlacements(at, 2);
  Head.setSequence(at, 41);
  Head.setProposals(at, 65535, 65530);
  Head.setSentMs(at, 1700000000000);
  Held.setCount(heldOf(at), 9);
  Held.setNext(heldOf(at), Next.Light, -3, 77);
  Held.setTimes(heldOf(at), 250, 40, 12);
  const row = rowsOf(at);
  Row.begin(row, 11);
  Row.setCounts(row, 3, 2, 70000);
  Row.setLoad(row, 1234.5, 1e6, 20);
  Row.setClockTokens(row, 5e9);
  Row.begin(row + ROW_BYTES, 12);
  Row.setLoad(row + ROW_BYTES, -1, -1, 1e12);
  let place = placementsOf(at);
  Placement.begin(place, 1, 3, 300);
  Placement.setFork(place);
  Placement.setTokens(place, 1000, 20000);
  Placement.setTags(place, 5, 6);
  for (let i = 0; i < 3; i++) Placement.setId(place, i, 100 + i);
  place += <usize>Placement.size(place);
  Placement.begin(place, 0, 0, 0);
  place += <usize>Placement.size(place);
  return <i32>(place - at);
}

describe("check", () => {
  it("accepts what was written, and reads back what was said", () => {
    expect(<i32>check(at, update())).toBe(Fault.None);
    expect(Head.proposed(at)).toBe(65535);
    expect(Head.settled(at)).toBe(65530);
    const held = heldOf(at);
    expect(Held.count(held)).toBe(9);
    expect(Held.next(held)).toBe(Next.Light);
    expect(Held.priority(held)).toBe(-3);
    expect(Held.tenant(held)).toBe(77);
    expect(Held.workMs(held)).toBe(250);
    expect(Held.waitedMs(held)).toBe(40);
    expect(Held.letGoAgeMs(held)).toBe(12);
    const row = rowsOf(at);
    expect(Row.waiting(row)).toBe(3);
    expect(Row.streams(row)).toBe(2);
    expect(Row.decoding(row)).toBe(65535);
    expect(Row.workMs(row)).toBe(1234.5);
    expect(Row.clockTokens(row)).toBe(5e9);
    expect(Row.workMs(row + ROW_BYTES)).toBe(0);
    const place = placementsOf(at);
    expect(Placement.host(place)).toBe(1);
    expect(Placement.isFork(place)).toBe(true);
    expect(Placement.chainLength(place)).toBe(255);
    expect(Placement.cachedTokens(place)).toBe(960);
    expect(Placement.uncachedTokens(place)).toBeGreaterThan(19000);
    expect(Placement.uncachedTokens(place)).toBeLessThan(21000);
    expect(Placement.uncachedTokens(place + <usize>Placement.size(place))).toBe(0);
    expect(Placement.id(place, 2)).toBe(102);
  });

  it("refuses every part of a message and everything longer", () => {
    const size = update();
    for (let cut = 0; cut < size; cut++) expect(<i32>check(at, cut)).not.toBe(Fault.None, `${cut}`);
    expect(<i32>check(at, size + 1)).toBe(Fault.Garbled);
    expect(<i32>check(at, MAX_MESSAGE + 1)).toBe(Fault.Oversized);
  });

  it("refuses places outside, too many ids and impossible numbers", () => {
    let size = update();
    Placement.setHost(placementsOf(at), 2);
    expect(<i32>check(at, size)).toBe(Fault.Garbled);
    size = update();
    store<u16>(placementsOf(at) + 2, 513);
    expect(<i32>check(at, size)).toBe(Fault.Garbled);
    const wrong: f32[] = [f32.NaN, <f32>Infinity, -1, 1e8];
    for (let i = 0; i < wrong.length; i++) {
      size = update();
      store<f32>(rowsOf(at) + 12, wrong[i]);
      expect(<i32>check(at, size)).toBe(Fault.Garbled, `${wrong[i]}`);
      size = update();
      store<f32>(heldOf(at) + 16, wrong[i] == 1e8 ? 2e9 : wrong[i]);
      expect(<i32>check(at, size)).toBe(Fault.Garbled, `held for ${wrong[i]}`);
    }
    size = update();
    store<u8>(at + 3, 1);
    expect(<i32>check(at, size)).toBe(Fault.Version);
  });

  it("holds pages to their size, hosts and tags", () => {
    Head.write(at, Kind.Page, 7);
    Head.setHosts(at, 2);
    Head.setCount(at, 2);
    const size = HEAD_BYTES + 16 + 2 * PAGE_ENTRY;
    const entry = entriesOf(at);
    PageEntry.write(entry, 9, 1, 4, 77);
    PageEntry.write(entry + PAGE_ENTRY, 10, 0, 0, 0);
    expect(<i32>check(at, size)).toBe(Fault.None);
    expect(PageEntry.ageTicks(entry)).toBe(77);
    expect(<i32>check(at, size - 1)).toBe(Fault.Garbled);
    PageEntry.write(entry, 9, 2, 4, 77);
    expect(<i32>check(at, size)).toBe(Fault.Garbled);
    PageEntry.write(entry, 0, 1, 4, 77);
    expect(<i32>check(at, size)).toBe(Fault.Garbled);
    Head.setCount(at, 0xfffffff0);
    expect(<i32>check(at, size)).toBe(Fault.Garbled);
  });
});
