/** Changes to the text of the shipped bootstrap that only the benchmark needs. */

/** Takes the access log out: it costs the same everywhere. */
export function withoutAccessLog(yaml: string): string {
  return yaml.replace(/^( *)access_log:\n(?:\1 +.*\n)+/m, "");
}

/** Puts a filter before the router. */
export function withFilter(yaml: string, filter: object): string {
  return yaml.replace(
    /^( *)- name: envoy\.filters\.http\.router$/m,
    (router, indent: string) => `${indent}- ${JSON.stringify(filter)}\n${router}`,
  );
}

/** Adds a cluster to the static ones. */
export function withCluster(yaml: string, cluster: object): string {
  return yaml.replace(/^( *)clusters:$/m, (key, indent: string) => {
    return `${key}\n${indent}  - ${JSON.stringify(cluster)}`;
  });
}
