import { text } from "../../../assembly/bytes";
import { BufferType, getBuffer } from "../../../assembly/host/buffers";
import { HeaderList, httpCall } from "../../../assembly/host/calls";
import { nowMs } from "../../../assembly/host/clock";
import { RootContext, StreamContext } from "../../../assembly/host/contexts";
import { getHeader, HeaderMap } from "../../../assembly/host/headers";
import { LogLevel, log } from "../../../assembly/host/log";
import { outCas, outLen, outPtr } from "../../../assembly/host/memory";
import { getShared, SharedResult, setShared } from "../../../assembly/host/shareddata";
import { Counter, Gauge, Histogram } from "../../../assembly/host/stats";
import {
  continueRequest,
  sendLocalResponse,
  setEffectiveContext,
  setTickPeriodMs,
} from "../../../assembly/host/stream";
import { getProperty, path } from "../../../assembly/host/properties";
import { TestStream } from "./stream";

const TICKS = text("ticks");
const STATUS = text(":status");
const ROOT_ID = path("plugin_root_id");
const METHOD = text(":method");
const PATH = text(":path");
const AUTHORITY = text(":authority");
const GET = text("GET");
const METRICS = text("/metrics");
const BACKEND = text("backend");
const NOWHERE = text("nowhere");
const DETAILS = text("test_tick");
const RETRY_AFTER = text("retry-after");
const ONE = text("1");
const SORRY = text("later");

/** Text at `outPtr`. */
function outText(): string {
  return String.UTF8.decodeUnsafe(outPtr, <usize>outLen);
}

function logInfo(message: string): void {
  log(LogLevel.Info, message);
}

export class TestRoot extends RootContext {
  config: string = "";
  pool: TestStream | null = null;
  requests: Counter = Counter.define("test.requests");
  open: Gauge = Gauge.define("test.open");
  sizes: Histogram = Histogram.define("test.sizes");
  headers: HeaderList = new HeaderList(8, 256);
  /** Stream that waits for a tick, with what the tick shall do: 1 continue, 2 answer. */
  waiting: u32 = 0;
  waitingFor: i32 = 0;

  override onStart(size: i32): bool {
    return size == 0 || (getBuffer(BufferType.VmConfiguration, 0, size) && outText() != "refuse");
  }

  override onConfigure(size: i32): bool {
    this.config = size > 0 && getBuffer(BufferType.PluginConfiguration, 0, size) ? outText() : "";
    if (this.config == "refuse") return false;
    if (this.config == "trap") unreachable();
    let root = getProperty(ROOT_ID) ? outText() : "?";
    logInfo("configured " + root + " " + this.config);
    setTickPeriodMs(100);
    return true;
  }

  override onTick(): void {
    // Count in shared data, as several VMs do at once.
    let cell = memory.data(8);
    for (let tries = 0; tries < 8; tries++) {
      let found = getShared(TICKS) == SharedResult.Ok;
      let ticks: u64 = found && outLen == 8 ? load<u64>(outPtr) : 0;
      store<u64>(cell, ticks + 1);
      if (setShared(TICKS, cell, 8, found ? outCas : 0) == SharedResult.Ok) break;
    }
    if (this.config == "call") this.call();
    if (this.waiting && setEffectiveContext(this.waiting)) {
      this.waiting = 0;
      if (this.waitingFor == 1) continueRequest();
      else this.answer(429);
    }
  }

  answer(status: u32): void {
    this.headers.reset();
    this.headers.addText(RETRY_AFTER, ONE);
    this.trace("answer begins", 0, 0);
    sendLocalResponse(status, DETAILS, this.headers, SORRY.ptr, SORRY.len);
    this.trace("answer ends", 0, 0);
  }

  /** Logs what happens where the configuration says `trace`. */
  trace(what: string, id: u32, n: i32): void {
    if (this.config == "trace") logInfo("#" + id.toString() + " " + what + " " + n.toString());
  }

  call(): void {
    this.headers.reset();
    this.headers.addText(METHOD, GET);
    this.headers.addText(PATH, METRICS);
    this.headers.addText(AUTHORITY, BACKEND);
    if (!httpCall(NOWHERE, this.headers, 0, 0, 400)) logInfo("refused " + outLen.toString());
    let token = httpCall(BACKEND, this.headers, SORRY.ptr, SORRY.len, 400);
    logInfo("called " + (token ? "yes" : "no"));
  }

  override onCallResponse(token: u32, headerCount: i32, bodySize: i32, trailerCount: i32): void {
    let status = getHeader(HeaderMap.CallResponse, STATUS) ? outText() : "none";
    let body = getBuffer(BufferType.CallResponseBody, 0, bodySize) ? outText() : "none";
    logInfo("answer " + headerCount.toString() + " " + status + " " + body);
  }

  override onDone(): void {
    logInfo("root done at " + nowMs().toString());
  }

  override onDelete(): void {
    logInfo("root deleted");
  }

  override createStream(id: u32): StreamContext | null {
    if (this.config == "blind") return null;
    let stream = this.pool;
    if (stream) this.pool = stream.next;
    else stream = new TestStream(this);
    stream.reset();
    return stream;
  }
}
