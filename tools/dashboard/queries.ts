/** PromQL that panels are made of. */

/** Each Envoy that is chosen at the top of the dashboard. */
const CHOSEN = 'instance=~"$instance"';

/** A series of the chosen Envoys, with further matchers. */
export const series = (name: string, matchers = ""): string =>
  `${name}{${CHOSEN}${matchers === "" ? "" : `,${matchers}`}}`;

/** Its growth per second. */
export const rate = (name: string, matchers = ""): string =>
  `rate(${series(name, matchers)}[$__rate_interval])`;

/** The sum over all labels but those in `by`. */
export const sum = (expr: string, by = ""): string =>
  `sum${by === "" ? "" : ` by (${by})`} (${expr})`;

/** The value that a share `q` of what a histogram counted stays below. */
export const quantile = (q: number, histogram: string): string =>
  `histogram_quantile(${q}, ${sum(rate(`${histogram}_bucket`), "le")})`;

/** Several of them, as queries with legends. */
export const quantiles = (histogram: string, ...qs: number[]) =>
  qs.map((q) => ({ expr: quantile(q, histogram), legend: `p${q * 100}` }));

/** One expression over another. */
export const share = (part: string, whole: string): string => `${part} / ${whole}`;

/** What predictions of one kind missed, as a share of what came. */
export const missed = (name: string, unit = ""): string => {
  const of = (what: string) => sum(rate(`warmroute_${name}_${what}${unit}_total`));
  return share(of("missed"), of("observed"));
};

/** The listeners, and the clusters of LLM servers, that are chosen at the top. */
export const LISTENER = 'envoy_http_conn_manager_prefix=~"$listener"';
export const CLUSTER = 'envoy_cluster_name=~"$cluster"';

/** Shares of prompt tokens that servers found in their caches, and that the filter expected there. */
const PROMPT = sum(rate("warmroute_prompt_tokens_total"));
export const REPORTED = share(sum(rate("warmroute_reported_cached_tokens_total")), PROMPT);
export const EXPECTED = share(sum(rate("warmroute_expected_cached_tokens_total")), PROMPT);
