import { type Pairs, toBuffer } from "./abi.ts";
import { HeaderMap } from "./headers.ts";
import type { Root } from "./vm.ts";

/** The answer to a call, as the filter can read it while it is told. */
export interface CallAnswer {
  headers: HeaderMap;
  trailers: HeaderMap;
  body: Buffer;
}

/** An HTTP request that the filter has sent by itself. It waits for one of the answers below. */
export class Call {
  readonly token: number;
  readonly root: Root;
  readonly cluster: string;
  readonly headers: HeaderMap;
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** When it was sent. */
  readonly sentNs: bigint;
  answered = false;
  private readonly finish: (call: Call, answer: CallAnswer | undefined) => void;

  constructor(
    fields: Pick<Call, "token" | "root" | "cluster" | "headers" | "body" | "timeoutMs" | "sentNs">,
    finish: (call: Call, answer: CallAnswer | undefined) => void,
  ) {
    this.token = fields.token;
    this.root = fields.root;
    this.cluster = fields.cluster;
    this.headers = fields.headers;
    this.body = fields.body;
    this.timeoutMs = fields.timeoutMs;
    this.sentNs = fields.sentNs;
    this.finish = finish;
  }

  /** Answers. `headers` may be a status alone. */
  respond(headers: Pairs | number, body: string | Uint8Array = "", trailers: Pairs = []): void {
    this.end({
      headers: HeaderMap.from(
        typeof headers === "number" ? [[":status", String(headers)]] : headers,
      ),
      trailers: HeaderMap.from(trailers),
      body: toBuffer(body),
    });
  }

  /** Breaks off: the filter is told of 0 headers. */
  fail(): void {
    this.end(undefined);
  }

  /** Time is up. Envoy then gives an answer of its own. */
  timeOut(): void {
    this.respond([[":status", "504"]], "upstream request timeout");
  }

  /** Nobody listens. Envoy then gives an answer of its own. */
  refuse(): void {
    this.respond([[":status", "503"]], "upstream connect error or disconnect/reset before headers");
  }

  private end(answer: CallAnswer | undefined): void {
    if (this.answered) return;
    this.answered = true;
    this.finish(this, answer);
  }
}
