/** `tools/envoy/main.ts [VERSION]`: says where Envoy is, after fetching it if need be. */
import { findEnvoy } from "./find.ts";

try {
  const envoy = findEnvoy(process.argv[2], console.log);
  console.log(
    `Envoy ${envoy.version} from ${envoy.source}: ${[envoy.command, ...envoy.prefix].join(" ")}`,
  );
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
