import { createServer, type Server } from "node:net";

/**
 * Where ports are drawn from: below what systems give to outgoing connections (Linux from 32768 on), or such a connection
 * might take one between here and its use. Envoys of tests with fixed ports are above.
 */
const FIRST = 12_000;
const LAST = 27_999;

/** TCP ports that were free on loopback a moment ago. All are held until all are known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function listen(): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    try {
      return await listenAt(port);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || attempt === 100) throw error;
    }
  }
}

function listenAt(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
