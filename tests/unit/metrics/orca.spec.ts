import { text } from "../../../assembly/bytes";
import { OrcaReader } from "../../../assembly/metrics/orca";

const reader = new OrcaReader();

function read(value: string): string {
  const bytes = text(value);
  if (!reader.read(bytes.ptr, bytes.len)) return "nothing";
  return (
    reader.running.toString() + "/" + reader.waiting.toString() + "/" + reader.kvUsage.toString()
  );
}

describe("load reports in response headers", () => {
  it("reads both spellings", () => {
    expect(
      read("TEXT named_metrics.kv_cache_usage_perc=0.5, named_metrics.num_requests_waiting=2.0"),
    ).toBe("NaN/2.0/0.5");
    expect(
      read('JSON {"named_metrics": {"kv_cache_usage_perc": 50.0, "num_requests_running": 1}}'),
    ).toBe("1.0/NaN/0.5");
  });

  it("forgets the last report", () => {
    expect(read("TEXT named_metrics.num_requests_running=3")).toBe("3.0/NaN/NaN");
    expect(read("TEXT cpu_utilization=0.3")).toBe("nothing");
    expect(read("BIN CAQSBA==")).toBe("nothing");
  });
});
