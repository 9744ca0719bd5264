import { request as httpRequest } from "node:http";
import { createServer, type Http2Server, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { wait } from "./until.ts";

/** What a network does with messages, or a gateway of another version. */
export type LinkFault =
  | { kind: "none" }
  /** Connections are closed without an answer. */
  | { kind: "cut" }
  /** Messages and answers vanish: nothing comes, and nobody says so. */
  | { kind: "silent" }
  | { kind: "late"; ms: number }
  /** Messages and answers are of the next version. */
  | { kind: "other version" };

const VERSION_AT = 3;

/** One way between two gateways: messages go through it, and answers back. It ends with the test. */
export class Link {
  fault: LinkFault = { kind: "none" };
  /** Messages that went through, as they were. */
  readonly carried: Buffer[] = [];
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
  }

  /** @param port where the other gateway hears */
  static async to(port: number): Promise<Link> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { fault } = link;
      if (fault.kind === "cut") request.stream.session?.destroy();
      if (fault.kind === "cut" || fault.kind === "silent") return;
      const message = Buffer.concat(chunks);
      link.carried.push(Buffer.from(message));
      if (fault.kind === "late") await wait(fault.ms);
      if (fault.kind === "other version") raiseVersion(message);
      const onward = httpRequest(
        { host: "127.0.0.1", port, path: request.url, method: request.method },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on("data", (part) => parts.push(part));
          answer.on("end", () => {
            const body = Buffer.concat(parts);
            if (fault.kind === "other version") raiseVersion(body);
            // The connection may have been closed in between.
            if (request.stream.destroyed) return;
            response.writeHead(answer.statusCode ?? 502).end(body);
          });
        },
      );
      onward.on("error", () => request.stream.session?.destroy());
      onward.end(message);
    });
    const link = new Link(server);
    const sessions = new Set<Http2Session>();
    server.on("session", (session) => {
      sessions.add(session);
      session.on("close", () => sessions.delete(session));
      session.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => {
      server.close();
      for (const session of sessions) session.destroy();
    });
    return link;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

function raiseVersion(message: Buffer): void {
  if (message.length > VERSION_AT && message.toString("latin1", 0, VERSION_AT) === "WRP") {
    message.writeUInt8(message.readUInt8(VERSION_AT) + 1, VERSION_AT);
  }
}
