import { type FaultOrder, LlmServer, type LlmServerOptions, type ServerStats } from "./server.ts";

/** Several servers in this process. */
export interface Fleet {
  servers: LlmServer[];
  ports: number[];
  /** `ip:port` of each. */
  addresses: string[];
  stats(): ServerStats[];
  /** Orders a fault over HTTP, as any client can. */
  fault(index: number, order: FaultOrder): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts `count` servers, on consecutive ports if `options.port` is given.
 * @example const fleet = await startServers(4, { timeScale: 10 });
 */
export async function startServers(
  count: number,
  options: Partial<LlmServerOptions> = {},
): Promise<Fleet> {
  const servers: LlmServer[] = [];
  for (let i = 0; i < count; i += 1) {
    const port = options.port ? options.port + i : 0;
    const server = new LlmServer({ ...options, port });
    await server.listen();
    servers.push(server);
  }
  return {
    servers,
    ports: servers.map((server) => server.port),
    addresses: servers.map((server) => server.address),
    stats: () => servers.map((server) => ({ ...server.stats })),
    fault: async (index, order) => {
      const server = servers[index];
      if (server === undefined) throw new RangeError(`no server ${index}`);
      await fetch(`http://${server.address}/__fault`, {
        method: "POST",
        body: JSON.stringify(order),
      }).then((response) => response.arrayBuffer());
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
