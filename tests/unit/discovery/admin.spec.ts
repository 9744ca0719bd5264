import { text } from "../../../assembly/bytes";
import { ClustersReader, MAX_CLUSTER_HOSTS } from "../../../assembly/discovery/admin";

const reader = new ClustersReader();
const LLM = text("llm");

function host(ip: string, port: i32, health: string = "", requests: i32 = 0): string {
  return (
    '{"stats":[{"name":"cx_total","value":"9"},{"value":"' +
    requests.toString() +
    '","name":"rq_total"}],"health_status":{' +
    health +
    '},"address":{"socket_address":{"port_value":' +
    port.toString() +
    ',"address":"' +
    ip +
    '"}}}'
  );
}

function answer(hosts: string, name: string = "llm"): string {
  return (
    '{"cluster_statuses":[{"name":"x","host_statuses":[' +
    host("10.9.9.9", 1) +
    ']},{"host_statuses":[' +
    hosts +
    '],"name":"' +
    name +
    '"}]}'
  );
}

function read(json: string): bool {
  const bytes = text(json);
  reader.begin(LLM);
  reader.feed(bytes.ptr, bytes.len);
  return reader.finish();
}

function shown(): string {
  let out = "";
  for (let i = 0; i < reader.count; i++) {
    out +=
      (i == 0 ? "" : " ") + String.UTF8.decodeUnsafe(reader.addressPtr(i), reader.addressLen(i));
    if (!reader.usable(i)) out += "!";
    if (reader.rank(i) > 0) out += "~" + reader.rank(i).toString();
    const requests = reader.requests(i);
    if (requests > 0) out += "+" + requests.toString();
  }
  return out;
}

describe("Envoy's clusters", () => {
  it("reads addresses and how many requests were handed there", () => {
    const hosts = host("10.0.0.1", 8000, "", 7) + "," + host("fd00::1", 80);
    expect(read(answer(hosts))).toBe(true);
    expect(shown()).toBe("10.0.0.1:8000+7 [fd00::1]:80");
  });

  it("takes each of Envoy's words on health", () => {
    const bad = [
      '"failed_active_health_check":true',
      '"failed_outlier_check":true',
      '"pending_dynamic_removal":true',
      '"excluded_via_immediate_hc_fail":true',
      '"active_hc_timeout":true',
      '"eds_health_status":"UNHEALTHY"',
      '"eds_health_status":"DRAINING"',
      '"eds_health_status":"TIMEOUT"',
    ];
    for (let i = 0; i < bad.length; i++) {
      read(answer(host("10.0.0.1", 8000, bad[i])));
      expect(shown()).toBe("10.0.0.1:8000!", bad[i]);
    }
    const good = [
      "",
      '"failed_active_health_check":false',
      '"eds_health_status":"HEALTHY"',
      '"eds_health_status":"UNKNOWN"',
      '"pending_active_hc":true',
    ];
    for (let i = 0; i < good.length; i++) {
      read(answer(host("10.0.0.1", 8000, good[i])));
      expect(shown()).toBe("10.0.0.1:8000", good[i]);
    }
    read(answer(host("10.0.0.1", 8000, '"eds_health_status":"DEGRADED"')));
    expect(shown()).toBe("10.0.0.1:8000~1000");
  });

  it("wants a whole answer that holds the cluster", () => {
    expect(read(answer(host("10.0.0.1", 8000), "other"))).toBe(false);
    expect(read('{"cluster_statuses":[')).toBe(false);
    expect(read("<html>")).toBe(false);
    expect(read('{"cluster_statuses":[{"name":"llm"}]}')).toBe(true);
    expect(reader.count).toBe(0);
  });

  it("leaves out what has no ip and port, and what is too much", () => {
    expect(read(answer('{"address":{"pipe":{"path":"/x"}}},' + host("10.0.0.1", 70000)))).toBe(
      true,
    );
    expect(reader.count).toBe(0);
    let hosts = host("10.0.0.1", 1);
    for (let i = 1; i < MAX_CLUSTER_HOSTS + 5; i++) hosts += "," + host("10.0.0.1", i + 1);
    expect(read(answer(hosts))).toBe(true);
    expect(reader.count).toBe(MAX_CLUSTER_HOSTS);
    expect(reader.left).toBe(5);
  });
});
