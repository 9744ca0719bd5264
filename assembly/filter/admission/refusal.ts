import { Text, text, writeU64 } from "../../bytes";
import { HeaderList } from "../../host/headerlist";
import { sendLocalResponse } from "../../host/stream";
import { Reason } from "../../policy/reason";

const STATUS: u32 = 429;
const RETRY_AFTER = text("retry-after");
const CONTENT_TYPE = text("content-type");
const JSON_TYPE = text("application/json");
/** A client is told to come back after this at the latest, s. */
const RETRY_MAX_S: f64 = 3600;

/** What a client is told: details for Envoy, and a body like OpenAI's. */
class Answer {
  readonly details: Text;
  readonly body: Text;

  constructor(code: string, message: string) {
    this.details = text("warmroute_" + code);
    this.body = text(
      '{"error":{"message":"' + message + '","type":"rate_limit_error","code":"' + code + '"}}',
    );
  }
}

const FULL = new Answer("queue_full", "All servers are busy and too many requests wait already.");
const TIMEOUT = new Answer(
  "queue_timeout",
  "All servers are busy; the request has waited for too long.",
);
const DEADLINE = new Answer(
  "deadline",
  "The request can't be served within the time that it allows.",
);

const headers = new HeaderList(4, 256);
const digits = memory.data(24);

/** Answers the stream in effect 429. @param retryMs when there may be room, ms */
export function refuse(reason: i32, retryMs: f64): bool {
  const answer = reason == Reason.QueueFull ? FULL : reason == Reason.Deadline ? DEADLINE : TIMEOUT;
  const seconds = retryMs > 0 ? Math.min(Math.ceil(retryMs / 1000), RETRY_MAX_S) : 1;
  headers.reset();
  headers.addText(CONTENT_TYPE, JSON_TYPE);
  headers.add(RETRY_AFTER, digits, writeU64(digits, <u64>Math.max(seconds, 1)));
  return sendLocalResponse(STATUS, answer.details, headers, answer.body.ptr, answer.body.len);
}
