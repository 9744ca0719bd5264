import { Text, text } from "../../../assembly/bytes";
import { BodyFields } from "../../../assembly/body/fields";
import { RequestReader } from "../../../assembly/body/request";

/** Paths as configured by default. */
export function defaultFields(): BodyFields {
  const paths: Array<Text> = [
    text("previous_response_id"),
    text("conversation"),
    text("prompt_cache_key"),
    text("session_id"),
    text("metadata.session_id"),
    text("metadata.conversation_id"),
    text("metadata.user_id"),
  ];
  return new BodyFields(paths);
}

const fields = defaultFields();

/** A reader that has read `json` and sealed its chain under seed 1. */
export function read(json: string): RequestReader {
  const reader = new RequestReader();
  readInto(reader, json);
  return reader;
}

export function readInto(reader: RequestReader, json: string): void {
  const bytes = text(json);
  reader.begin(fields);
  reader.feed(bytes.ptr, bytes.len);
  reader.finish(false);
  reader.seal(1);
}

/** Id of everything. */
export function lastId(reader: RequestReader): u64 {
  return reader.chain.ids[reader.chain.length - 1];
}

/** A chat of one user message. */
export function chat(message: string): string {
  return '{"model":"m","messages":[' + message + "]}";
}

/** Whether two bodies say the same to a server. */
export function same(a: string, b: string): bool {
  return lastId(read(a)) == lastId(read(b));
}
