import { Config } from "../../config/config";
import { ClustersReader } from "../../discovery/admin";
import { MetricsReader } from "../../metrics/report";

/** What was wrong with polls that brought nothing usable, and what would help: texts for the log. */

/**
 * No good answer came.
 * @param cluster the cluster that was asked  @param status of the answer, empty when there was none
 */
export function noAnswer(section: string, cluster: string, url: string, status: string): string {
  // Envoy answers so itself where nobody listens.
  const isEnvoys = status == "503" || status == "504";
  if (status.length > 0 && !isEnvoys) {
    return `${section}.path: ${url} at cluster ${cluster} answered HTTP ${status}; expected 200`;
  }
  const said = isEnvoys ? ` (HTTP ${status})` : ` within ${section}.timeout_ms`;
  return (
    `${section}.cluster: ${cluster} did not answer ${url}${said}; ` +
    `expected the address of a server that does: is it running, and can Envoy reach it?`
  );
}

/** A page that can't be read, for it was compressed though that was asked not to be. */
export function compressed(
  section: string,
  cluster: string,
  url: string,
  encoding: string,
): string {
  return (
    `${section}.path: ${url} at cluster ${cluster} answered with content-encoding ${encoding}; ` +
    `expected plain text, as asked for with accept-encoding: identity`
  );
}

/** An answer of the admin interface that didn't tell the cluster's hosts. */
export function badClusters(reader: ClustersReader, config: Config): string {
  const discovery = config.discovery;
  const target = discovery.targetCluster.toString();
  if (reader.isWhole) {
    return `discovery.target_cluster: Envoy has no cluster ${target}; expected the name of the cluster of the LLM servers`;
  }
  return `discovery.path: ${discovery.path.toString()} is not Envoy's list of clusters; expected /clusters?format=json of its admin interface`;
}

/** An endpoint's answer that didn't report any known host. */
export function badEndpoint(reader: MetricsReader, config: Config): string {
  const label = config.metrics.hostLabel.toString();
  if (reader.unlabelled > 0 && reader.strange == 0) {
    return (
      `metrics.host_label: ${reader.unlabelled} series of known metrics, none with a label ${label}; ` +
      `expected one that names the server, as ip:port or ip`
    );
  }
  if (reader.strange > 0) {
    return (
      `metrics.host_label: the label ${label} of ${reader.strange} series names no known server; ` +
      `expected the ip:port, or the ip, of a member of hosts or of the discovered cluster`
    );
  }
  return badPage(config);
}

/** A page without any metric that is known. */
export function badPage(config: Config): string {
  return (
    `metrics.path: ${config.metrics.path.toString()} has no metric of a known engine; ` +
    `expected those of vLLM, SGLang, TGI, TensorRT-LLM or llama.cpp, or their names in metrics.names`
  );
}
