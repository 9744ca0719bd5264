/** Where the status page is on the operators' listener. */
export const STATUS_PATH = "/status";

/**
 * A bootstrap with a listener for operators besides: the same filter with the same settings and `status.path` on top, which
 * shares what the filter knows (same `vm_id`, same `root_id`). As in envoy/README.md.
 */
export function operators(yaml: string, port: number, path: string): string {
  const filter = /^ {18}# <filter>\n([\s\S]*?)^ {18}# <\/filter>\n/m.exec(yaml)?.[1] ?? "";
  const withPage = filter.replace(/value: '(.*)'/, (_all, text: string) => {
    const settings = { ...JSON.parse(text), status: { path } };
    return `value: '${JSON.stringify(settings)}'`;
  });
  const listener = `
    - name: operators
      address: { socket_address: { address: 127.0.0.1, port_value: ${port} } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: operators
                route_config:
                  virtual_hosts:
                    - name: operators
                      domains: ["*"]
                      routes: [{ match: { prefix: "/" }, direct_response: { status: 404 } }]
                http_filters:
${withPage}                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
`;
  return yaml.replace(/^ {2}clusters:\n/m, `${listener.slice(1)}\n  clusters:\n`);
}
