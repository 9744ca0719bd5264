/**
 * The upstream of the benchmark, a program of its own: reads whole bodies, answers at once. HTTP/1.1
 * over plain sockets, since the load generator shares its core. Prints its port when it listens.
 *
 *   node --import tsx tests/bench/backend.ts HOSTS
 */
import { createServer, type Socket } from "node:net";
import { answerOf, endpointOf } from "./answers.ts";

/** Listens on 127.0.0.1 … 127.0.0.HOSTS, all on one port. */
const hosts = Number(process.argv[2] ?? 3);

const HEAD_END = Buffer.from("\r\n\r\n");
const CHUNKS_END = Buffer.from("0\r\n\r\n");
const NOTHING = Buffer.alloc(0);

/** One connection: a head, then a body to skip or to keep, again and again. */
function serve(socket: Socket): void {
  let head: Buffer = NOTHING;
  let endpoint: ReturnType<typeof endpointOf>;
  /** Bytes of the body still to come; -1 while in a head, -2 in a chunked body. */
  let left = -1;
  let bodyBytes = 0;
  let kept: Buffer[] = [];
  let tail = "";
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: Buffer) => {
    let at = 0;
    while (at < data.length) {
      if (left === -1) {
        head = head.length === 0 ? data.subarray(at) : Buffer.concat([head, data.subarray(at)]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const text = head.toString("latin1", 0, end);
        data = head;
        at = end + 4;
        head = NOTHING;
        // A router that tries HTTP/2 first: not spoken here.
        if (text.startsWith("PRI * HTTP/2")) {
          socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
          return;
        }
        endpoint = endpointOf(text);
        if (endpoint === undefined) say(text.slice(0, text.indexOf("\r\n")));
        const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
        left =
          length === undefined ? (/\r\ntransfer-encoding:/i.test(text) ? -2 : 0) : Number(length);
        bodyBytes = Math.max(0, left);
        kept = [];
        tail = "";
      }
      const part =
        left === -2 ? data.subarray(at) : data.subarray(at, Math.min(data.length, at + left));
      if (endpoint?.readsBody) kept.push(part);
      at += part.length;
      if (left === -2) {
        // The last five bytes of the message are the empty chunk; nothing is pipelined after it.
        bodyBytes += part.length;
        tail = (tail + part.toString("latin1", Math.max(0, part.length - 5))).slice(-5);
        if (tail !== CHUNKS_END.toString("latin1")) return;
        left = 0;
      } else {
        left -= part.length;
      }
      if (left !== 0) return;
      left = -1;
      socket.write(answerOf(endpoint, bodyBytes, Buffer.concat(kept)));
    }
  });
}

const missed = new Set<string>();

/** Says once what a router asked for in vain: a peer may look bad for lack of it. */
function say(line: string): void {
  if (!missed.has(line)) console.error(`no answer for ${line}`);
  missed.add(line);
}

let port = 0;
for (let i = 1; i <= hosts; i++) {
  const server = createServer(serve);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, `127.0.0.${i}`, () => resolve());
  });
  port = (server.address() as { port: number }).port;
}
console.log(port);
