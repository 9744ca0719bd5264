import { Text, equalsText, text } from "../../bytes";
import { BufferType, getBuffer } from "../../host/buffers";
import { nowMs } from "../../host/clock";
import { DataStatus, HeadersStatus, StreamContext, TrailersStatus } from "../../host/contexts";
import { HeaderList } from "../../host/headerlist";
import { HeaderMap, getHeader } from "../../host/headers";
import { outLen, outPtr } from "../../host/memory";
import { sendLocalResponse } from "../../host/stream";
import { FAULTS, Fault, faultName } from "../../peers/check";
import { MAX_MESSAGE, VERSION } from "../../peers/wire";
import { hearingOf } from "./hearing";
import { Core } from "../core";

const METHOD = text(":method");
const POST = text("POST");
const PATH = text(":path");
const CONTENT_TYPE = text("content-type");
const BYTES = text("application/octet-stream");
const PLAIN = text("text/plain");
const TAKEN = text("warmroute_peer_taken");
const NOT_FOUND = text("warmroute_peer_not_found");
const UNREADY = text("warmroute_peer_unready");
const EMPTY = text("");
const NOT_FOUND_TEXT = text("this listener is for other gateways' messages: POST to peers.path\n");
const UNREADY_TEXT = text(
  "no filter with this root_id routes in this VM yet: expected one with the same vm_config and root_id on a public listener\n",
);

const DETAILS: StaticArray<Text> = detailTexts();
const EXPLANATIONS: StaticArray<Text> = explanations();

function detailTexts(): StaticArray<Text> {
  const texts = new StaticArray<Text>(FAULTS);
  for (let fault = 0; fault < FAULTS; fault++) {
    texts[fault] = text("warmroute_peer_" + faultName(fault));
  }
  return texts;
}

function explanations(): StaticArray<Text> {
  const texts = new StaticArray<Text>(FAULTS);
  texts.fill(EMPTY);
  texts[Fault.Garbled] = text("expected a whole message of a gateway\n");
  texts[Fault.Version] = text(`expected version ${VERSION} of the exchange\n`);
  texts[Fault.Oversized] = text(`expected at most ${MAX_MESSAGE} bytes\n`);
  texts[Fault.Replayed] = text("this message came before\n");
  texts[Fault.Crowded] = text("too many gateways, or not ready for messages\n");
  texts[Fault.Hashes] = text("expected the same affinity.hash_secret as here\n");
  return texts;
}

const STATUSES: StaticArray<u32> = [200, 400, 400, 413, 409, 503, 400];

/** A request on an internal listener: a message of another gateway, answered here; anything else isn't found. */
export class PeerStream extends StreamContext {
  private isOurs: bool = false;

  constructor(private core: Core) {
    super();
  }

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    if (!this.isMessage()) {
      this.reply(404, NOT_FOUND, PLAIN, NOT_FOUND_TEXT.ptr, NOT_FOUND_TEXT.len);
    } else if (endOfStream) {
      this.refuse(Fault.Garbled);
    } else {
      this.isOurs = true;
    }
    return HeadersStatus.StopIteration;
  }

  onRequestBody(size: i32, endOfStream: bool): DataStatus {
    if (!this.isOurs) return DataStatus.StopIterationNoBuffer;
    if (size > MAX_MESSAGE) {
      this.refuse(Fault.Oversized);
      return DataStatus.StopIterationNoBuffer;
    }
    if (!endOfStream) return DataStatus.StopIterationAndBuffer;
    this.take(size);
    return DataStatus.StopIterationNoBuffer;
  }

  onRequestTrailers(count: i32): TrailersStatus {
    if (this.isOurs) this.refuse(Fault.Garbled);
    return TrailersStatus.StopIteration;
  }

  private isMessage(): bool {
    if (!getHeader(HeaderMap.Request, METHOD) || !equalsText(outPtr, outLen, POST)) return false;
    if (!getHeader(HeaderMap.Request, PATH)) return false;
    return equalsText(outPtr, outLen, this.core.config.peers.path);
  }

  private take(size: i32): void {
    const hearing = hearingOf(this.core.namespace);
    if (!hearing) {
      this.reply(503, UNREADY, PLAIN, UNREADY_TEXT.ptr, UNREADY_TEXT.len);
      return;
    }
    const isRead = getBuffer(BufferType.RequestBody, 0, size);
    const fault = isRead ? hearing.take(outPtr, outLen, nowMs()) : Fault.Garbled;
    if (fault != Fault.None) this.refuse(fault);
    else {
      this.reply(200, TAKEN, BYTES, hearing.answer, hearing.answerBytes);
      hearing.answered();
    }
  }

  private refuse(fault: Fault): void {
    const why = EXPLANATIONS[fault];
    this.reply(STATUSES[fault], DETAILS[fault], PLAIN, why.ptr, why.len);
  }

  private reply(status: u32, details: Text, type: Text, ptr: usize, len: i32): void {
    this.isOurs = false;
    headers.reset();
    headers.addText(CONTENT_TYPE, type);
    sendLocalResponse(status, details, headers, ptr, len);
  }
}

const headers = new HeaderList(2, 128);
