import { Text, text, writeF64, writeHex16, writeU64 } from "../../bytes";
import { streams } from "../../host/contexts";
import { HeaderMap, setHeader } from "../../host/headers";
import { outLen, outPtr } from "../../host/memory";
import { getProperty, path, setProperty } from "../../host/properties";
import { Reason, REASONS, reasonName } from "../../policy/reason";
import { Decision } from "./decision";
import { Core } from "../core";
import { Dispatcher } from "../request/dispatch";
import { Phase, Stream } from "../stream";

/** One thing that is told of a decision: as a response header and as a property for access logs. */
class Field {
  readonly header: Text;
  readonly property: Text;

  /** @param name as in `x-warmroute-<name>` */
  constructor(name: string) {
    this.header = text("x-warmroute-" + name);
    this.property = path("warmroute." + name.split("-").join("_"));
  }
}

const HOST = new Field("host");
const CHOICE = new Field("choice");
const REASON = new Field("reason");
const KEY = new Field("key");
const MODEL = new Field("model");
const PROMPT_CHARS = new Field("prompt-chars");
const IMAGES = new Field("images");
const PROMPT_TOKENS = new Field("prompt-tokens");
const CACHED_TOKENS = new Field("cached-tokens");
const OUTPUT_TOKENS = new Field("output-tokens");
const QUEUED_MS = new Field("queued-ms");
const TENANT = new Field("tenant");
const UPSTREAM_ADDRESS = path("upstream", "address");
const SERVER_TIMING = text("server-timing");
const COST = text("cost;dur=");
const NEXT_COST = text(", next-cost;dur=");

const SCRATCH_BYTES: i32 = 2048;
const scratch: usize = heap.alloc(SCRATCH_BYTES);

const REASON_NAMES: StaticArray<Text> = reasonTexts();

function reasonTexts(): StaticArray<Text> {
  const texts = new StaticArray<Text>(REASONS);
  for (let reason = 0; reason < REASONS; reason++) texts[reason] = text(reasonName(reason));
  return texts;
}

/** Says what was decided and why: response headers (with `debug_headers`), access-log properties, counters. */
export class Explain {
  /** Where a value goes: response headers if true, else properties. */
  private toHeaders: bool = false;

  constructor(
    private core: Core,
    private dispatcher: Dispatcher,
  ) {}

  /** The answer's headers pass: adds what `debug_headers` asks for. */
  respond(stream: Stream, fromUpstream: bool): void {
    if (!this.core.config.debugHeaders) return;
    this.toHeaders = true;
    this.tell(stream, fromUpstream);
    const d = stream.decision;
    if (d.choice.count == 0) return;
    let length = append(0, COST);
    length += writeF64(scratch + length, round2(d.costMs));
    if (!isNaN(d.nextCostMs)) {
      length = append(length, NEXT_COST);
      length += writeF64(scratch + length, round2(d.nextCostMs));
    }
    setHeader(HeaderMap.Response, SERVER_TIMING, scratch, length);
  }

  /** A decided request is over: access-log properties and counters. */
  finished(stream: Stream): void {
    const stats = this.core.stats;
    const d = stream.decision;
    stats.decided(d.reason);
    if (d.promptTokens > 0) stats.promptTokens.note(<i64>d.promptTokens);
    if (d.cachedTokens > 0) stats.expectedCached.note(<i64>d.cachedTokens);
    stats.ended(streams.count);
    if (!this.core.config.accessLogFields) return;
    this.toHeaders = false;
    this.tell(stream, stream.served.status > 0 && !stream.served.isLocal);
  }

  /** A request that was none of ours is over. */
  passing(stream: Stream): void {
    if (!this.core.config.accessLogFields) return;
    this.toHeaders = false;
    const name = unchecked(REASON_NAMES[Reason.Bypass]);
    this.put(REASON, name.ptr, name.len);
    if (getProperty(UPSTREAM_ADDRESS) && outLen > 0) this.put(HOST, outPtr, outLen);
  }

  private tell(stream: Stream, fromUpstream: bool): void {
    const d = stream.decision;
    const name = unchecked(REASON_NAMES[d.reason]);
    this.put(REASON, name.ptr, name.len);
    const hosts = this.core.fleet.hosts;
    const slot = stream.served.slot;
    if (fromUpstream && slot >= 0 && hosts.isKnown(slot)) {
      this.put(HOST, hosts.addressPtr(slot), hosts.addressLen(slot));
    } else if (fromUpstream && getProperty(UPSTREAM_ADDRESS) && outLen > 0) {
      // One of another cluster, or one that nobody chose.
      this.put(HOST, outPtr, outLen);
    }
    if (d.choice.count > 0) {
      const length = this.dispatcher.writeChoice(d, scratch, SCRATCH_BYTES);
      this.put(CHOICE, scratch, length);
    }
    if (stream.phase == Phase.Passing) return;
    if (d.key != 0) {
      this.put(KEY, scratch, writeHex16(scratch, d.key));
    }
    const tenant = stream.ticket.tenant;
    if (tenant != 0) this.put(TENANT, scratch, writeHex16(scratch, tenant));
    if (d.modelLen > 0) this.put(MODEL, scratch, writeVisible(d.model, d.modelLen));
    if (d.readable) this.tellPrompt(d);
    this.putNumber(QUEUED_MS, d.queuedMs);
  }

  private tellPrompt(d: Decision): void {
    this.put(PROMPT_CHARS, scratch, writeU64(scratch, d.promptChars));
    this.put(IMAGES, scratch, writeU64(scratch, <u64>d.images));
    this.putNumber(PROMPT_TOKENS, d.promptTokens);
    this.putNumber(CACHED_TOKENS, d.cachedTokens);
    this.putNumber(OUTPUT_TOKENS, d.outputTokens);
  }

  /** A number ≥ 0, rounded to a whole one. */
  private putNumber(field: Field, value: f64): void {
    const whole = value >= 0 && value < 1e15 ? <u64>Math.round(value) : 0;
    this.put(field, scratch, writeU64(scratch, whole));
  }

  private put(field: Field, ptr: usize, len: i32): void {
    if (this.toHeaders) setHeader(HeaderMap.Response, field.header, ptr, len);
    else setProperty(field.property, ptr, len);
  }
}

/** Copies client-sent text into the scratch bytes with control characters masked, so that it can't break out of a header. */
function writeVisible(ptr: usize, len: i32): i32 {
  for (let i = 0; i < len; i++) {
    const byte = load<u8>(ptr + i);
    store<u8>(scratch + i, byte < 0x20 || byte == 0x7f ? 0x3f : byte);
  }
  return len;
}

function append(length: i32, part: Text): i32 {
  memory.copy(scratch + length, part.ptr, part.len);
  return length + part.len;
}

function round2(value: f64): f64 {
  return Math.round(value * 100) / 100;
}
