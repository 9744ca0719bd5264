import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { decode, encode } from "dns-packet";

/** A name server for one test: every name has the addresses that it is told. */
export interface NameServer {
  port: number;
  /** IPv4 addresses that it answers with from now on. */
  addresses: string[];
  /** It is away: no question is answered. */
  silent: boolean;
}

/** Starts a name server on loopback; it ends with the test. */
export async function startNameServer(addresses: string[]): Promise<NameServer> {
  const socket = createSocket("udp4");
  const server: NameServer = { port: 0, addresses, silent: false };
  socket.on("message", (message, from) => {
    if (server.silent) return;
    const { id, questions = [] } = decode(message);
    const name = questions[0]?.name ?? "";
    const isV4 = questions[0]?.type === "A";
    const answers = server.addresses.map((data) => ({ type: "A" as const, name, ttl: 1, data }));
    const reply = encode({
      type: "response",
      id: id ?? 0,
      flags: 0x0180,
      questions,
      answers: isV4 ? answers : [],
    });
    socket.send(reply, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  server.port = (socket.address() as AddressInfo).port;
  after(() => socket.close());
  return server;
}
