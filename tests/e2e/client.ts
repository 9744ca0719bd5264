import { type Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";

export interface RequestOptions {
  port: number;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  /** A string or buffer is sent with its length; anything iterable is sent chunked. */
  body?: string | Buffer | Iterable<Buffer> | AsyncIterable<Buffer>;
  /** A connection pool; by default each request has a connection of its own. */
  agent?: Agent;
  /** The whole exchange may take this long; 30 s by default. */
  timeoutMs?: number;
  /** Told of the answer's headers and status. */
  onHeaders?: (headers: IncomingHttpHeaders, status: number) => void;
  /** Told of each piece of the answer as it comes. */
  onData?: (chunk: Buffer) => void;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** From the request's start to the first byte of the answer's body, in milliseconds. */
  firstByteMs: number;
  totalMs: number;
}

/** One HTTP request to a port on loopback. */
export function send(options: RequestOptions): Promise<Answer> {
  const { port, body, headers = {}, timeoutMs = 30_000 } = options;
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const whole = typeof body === "string" ? Buffer.from(body) : body;
    const length = Buffer.isBuffer(whole) ? { "content-length": String(whole.length) } : {};
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      path: options.path ?? "/v1/chat/completions",
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...length, ...headers },
      agent: options.agent ?? false,
    });
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    request.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.on("response", (response) => {
      options.onHeaders?.(response.headers, response.statusCode ?? 0);
      const chunks: Buffer[] = [];
      let firstByteMs = Number.NaN;
      response.on("data", (chunk: Buffer) => {
        if (chunks.length === 0) firstByteMs = performance.now() - started;
        chunks.push(chunk);
        options.onData?.(chunk);
      });
      response.on("error", (error) => request.emit("error", error));
      response.on("end", () => {
        clearTimeout(timer);
        const totalMs = performance.now() - started;
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body: Buffer.concat(chunks), firstByteMs, totalMs });
      });
    });
    if (whole === undefined || Buffer.isBuffer(whole)) request.end(whole);
    else {
      writeAll(request, whole as AsyncIterable<Buffer>).catch((error) => request.destroy(error));
    }
  });
}

/** Sends pieces as fast as the other side takes them. */
async function writeAll(
  request: ReturnType<typeof httpRequest>,
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  for await (const piece of pieces) {
    if (request.destroyed) return;
    if (request.write(piece)) continue;
    await new Promise<void>((resolve) => {
      const go = () => {
        request.off("drain", go);
        request.off("close", go);
        resolve();
      };
      request.on("drain", go);
      request.on("close", go);
    });
  }
  request.end();
}

/** A POST of JSON to an inference path. */
export function post(
  port: number,
  body: object | string | Buffer,
  options: Partial<RequestOptions> = {},
): Promise<Answer> {
  const sent = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json", ...options.headers };
  return send({ port, ...options, headers, body: sent });
}

/** The `data:` lines of an event stream. */
export function events(answer: Answer): string[] {
  return answer.body
    .toString()
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length));
}

/** Runs jobs, `limit` at a time, in order of their start. */
export async function inParallel<T>(
  jobs: readonly T[],
  limit: number,
  run: (job: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) {
      const index = next++;
      await run(jobs[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
