import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./faults.ts";

/** Does what the fault says; true if that was the answer. */
export async function strike(
  fault: Fault,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  switch (fault.kind) {
    case "status":
      await readBody(request, response, 0);
      for (const [name, value] of Object.entries(fault.headers ?? {})) {
        response.setHeader(name, value);
      }
      response.writeHead(fault.status, { "content-type": "application/json" });
      response.end(fault.body ?? JSON.stringify({ error: { message: `fault ${fault.status}` } }));
      return true;
    case "delay":
      await sleep(fault.delayMs);
      return false;
    case "hang":
      request.resume();
      return true;
    case "reset":
      request.socket.destroy();
      return true;
    case "reset_after_headers":
      await readBody(request, response, 0);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      setTimeout(() => response.destroy(), 5);
      return true;
    case "garbage":
      response
        .writeHead(200)
        .end('vllm:num_requests_running{engine="0 NaN\n\u0000\u0001 ### 1e999 {\n');
      return true;
    case "html":
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><html><body>Sign in</body></html>");
      return true;
    default:
      return false;
  }
}

/**
 * Reads a body to its end, its digest and size into answer headers. Up to `keepBytes` of it are
 * returned, null if it was larger; what isn't kept is never held in memory.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  keepBytes: number,
): Promise<Buffer | null> {
  const hash = createHash("sha256");
  let bytes = 0;
  let kept: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes <= keepBytes) kept.push(chunk);
    else kept = [];
  }
  response.setHeader("x-body-sha256", hash.digest("hex"));
  response.setHeader("x-body-bytes", bytes);
  return bytes <= keepBytes ? Buffer.concat(kept) : null;
}

/** Answers with a JSON value. */
export function sendJson(response: ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}
