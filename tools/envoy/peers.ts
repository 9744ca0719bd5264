/**
 * `node tools/run.mjs tools/envoy/peers.ts`: prints the bootstrap of a gateway among several, which is
 * envoy/envoy.yaml with envoy/peers.yaml in it. The gateways are found by the name `gateways`.
 */
import { peersBootstrap } from "./render.ts";

process.stdout.write(
  peersBootstrap({
    discovery: { source: "envoy_admin" },
    peers: { cluster: "warmroute_peers" },
  }),
);
