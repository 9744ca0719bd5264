import { Text, text } from "../../../assembly/bytes";
import { Signal } from "../../../assembly/config/signals";
import { HostMatcher, isAtIp } from "../../../assembly/metrics/matcher";
import { presetNames } from "../../../assembly/metrics/engines";
import { HostReport, MAX_REPORTS, MetricsReader } from "../../../assembly/metrics/report";
import { hashBytes } from "../../../assembly/prefix/hash";

const NOW_MS: f64 = 1790000300000;

/** Takes the number after `h` in the label for the host. */
class Numbered extends HostMatcher {
  find(ptr: usize, len: i32, signal: Signal): i32 {
    if (len < 2 || load<u8>(ptr) != 0x68) return -1;
    let host = 0;
    for (let i: usize = 1; i < <usize>len; i++) host = host * 10 + (load<u8>(ptr + i) - 0x30);
    return host;
  }
}

const own = new MetricsReader(presetNames());
const many = new MetricsReader(presetNames(), new Numbered(), text("host"), 1000);

function read(reader: MetricsReader, answer: string): bool {
  const bytes = text(answer);
  reader.begin(NOW_MS);
  reader.feed(bytes.ptr, bytes.len);
  return reader.finish();
}

/** `running/waiting/kv`, with `?` for what is not known. */
function shown(report: HostReport): string {
  return part(report.running) + "/" + part(report.waiting) + "/" + part(report.kvUsage);
}

function part(value: f64): string {
  return isNaN(value) ? "?" : value.toString();
}

function own1(answer: string): string {
  read(own, answer);
  return shown(own.report(0));
}

describe("a backend's own answer", () => {
  it("adds the engines' requests up and takes the mean of their KV usage", () => {
    expect(
      own1(
        'vllm:num_requests_running{engine="0"} 3.0\n' +
          'vllm:num_requests_running{engine="1"} 9.0\n' +
          'vllm:num_requests_waiting{engine="0"} 0.0\n' +
          'vllm:num_requests_waiting{engine="1"} 5.0\n' +
          'vllm:kv_cache_usage_perc{engine="0"} 0.25\n' +
          'vllm:kv_cache_usage_perc{engine="1"} 0.75\n',
      ),
    ).toBe("12.0/5.0/0.5");
  });

  it("prefers a metric's new name, engine by engine", () => {
    expect(
      own1(
        'vllm:gpu_cache_usage_perc{engine="0"} 0.0\nvllm:kv_cache_usage_perc{engine="0"} 0.5\n' +
          "vllm:cpu_cache_usage_perc 0.9\n",
      ),
    ).toBe("?/?/0.5");
    expect(
      own1('vllm:kv_cache_usage_perc{engine="0"} 0.5\nvllm:gpu_cache_usage_perc{engine="0"} 0.0\n'),
    ).toBe("?/?/0.5");
    expect(
      own1('vllm:kv_cache_usage_perc{engine="0"} 0.5\nvllm:gpu_cache_usage_perc{engine="1"} 1.0\n'),
    ).toBe("?/?/0.75");
  });

  it("counts the ranks of one engine once", () => {
    expect(
      own1(
        'sglang:num_running_reqs{tp_rank="0"} 4\nsglang:num_running_reqs{tp_rank="1"} 4\n' +
          'sglang:num_queue_reqs{tp_rank="0"} 0\n',
      ),
    ).toBe("4.0/0.0/?");
  });

  it("does not take the unknown for zero", () => {
    expect(own1('nv_inference_queue_duration_us{model="ensemble"} 20113756\n')).toBe("?/?/?");
    expect(own1("llamacpp:requests_processing 2\nllamacpp:n_busy_slots_per_decode 1.7\n")).toBe(
      "2.0/?/?",
    );
    expect(own1("vllm:num_requests_running NaN\n")).toBe("?/?/?");
  });

  it("knows those who took vLLM's names over, with a prefix of their own or none", () => {
    const lines = ["num_requests_running 3", "num_requests_waiting 2", "gpu_cache_usage_perc 0.5"];
    const prefixes = ["vllm:", "ray_vllm_", "lmdeploy:", ""];
    for (let i = 0; i < prefixes.length; i++) {
      let page = "";
      for (let l = 0; l < lines.length; l++) page += prefixes[i] + lines[l] + "\n";
      expect(own1(page)).toBe("3.0/2.0/0.5", prefixes[i]);
    }
  });

  it("says whether anything was in it", () => {
    expect(read(own, "<!doctype html><title>404</title>")).toBe(false);
    expect(own.malformed).toBe(1);
    expect(read(own, "")).toBe(false);
    expect(read(own, "tgi_queue_size 0")).toBe(true);
    expect(own.count).toBe(1);
  });

  it("starts each answer anew", () => {
    read(own, 'vllm:num_requests_running{engine="7",model_name="m"} 3\n');
    expect(own.report(0).modelCount).toBe(1);
    expect(own1("tgi_queue_size 2\n")).toBe("?/2.0/?");
    expect(own.report(0).modelCount).toBe(0);
  });

  it("is of now, whatever its timestamps say", () => {
    read(own, "tgi_queue_size 3 1000000000000\ntgi_batch_current_size 8\n");
    expect(shown(own.report(0))).toBe("8.0/3.0/?");
    expect(isNaN(own.report(0).timestampMs)).toBe(true);
  });
});

describe("an endpoint's answer", () => {
  it("tells hosts apart and leaves out those that nobody knows", () => {
    const ok = read(
      many,
      'tgi_queue_size{host="h7"} 1\ntgi_queue_size{host="x"} 2\ntgi_queue_size 3\n' +
        'tgi_queue_size{host="h511"} 4\ntgi_queue_size{host="h512"} 5\n',
    );
    expect(ok).toBe(true);
    expect(many.count).toBe(2);
    expect(many.host(0)).toBe(7);
    expect(many.host(1)).toBe(511);
    expect(shown(many.report(0))).toBe("?/1.0/?");
    expect(shown(many.report(1))).toBe("?/4.0/?");
    expect(String.UTF8.decodeUnsafe(many.addressPtr(1), many.addressLen(1))).toBe("h511");
  });

  it("takes the newest sample of a series, in either order", () => {
    const older = 'tgi_queue_size{host="h1",pod="old"} 30 1790000010000\n';
    const newer = 'tgi_queue_size{host="h1",pod="new"} 9 1790000295000\n';
    read(many, older + newer);
    expect(shown(many.report(0))).toBe("?/9.0/?");
    expect(many.report(0).timestampMs).toBe(1790000295000);
    read(many, newer + older);
    expect(shown(many.report(0))).toBe("?/9.0/?");
  });

  it("puts samples of the future at now", () => {
    read(many, 'tgi_queue_size{host="h1"} 30 1890000010000\n');
    expect(isNaN(many.report(0).timestampMs)).toBe(true);
  });

  it("keeps to its bounds", () => {
    let answer = "";
    for (let i = 0; i < 2 * MAX_REPORTS; i++) {
      answer += 'tgi_queue_size{host="h' + i.toString() + '"} 1\n';
    }
    read(many, answer);
    expect(many.count).toBe(MAX_REPORTS);
    answer = "";
    for (let i = 0; i < 13000; i++) {
      answer += 'tgi_queue_size{host="h1",engine="' + i.toString() + '"} 1\n';
    }
    read(many, answer);
    expect(many.dropped).toBe(712);
    expect(shown(many.report(0))).toBe("?/12288.0/?");
  });
});

describe("names of the user's", () => {
  it("take the place of the presets, the first reported one counts", () => {
    const names = presetNames();
    names.replace(Signal.Waiting, [text("my_queue"), text("my_old_queue"), text("q{kind=wait}")]);
    names.replace(Signal.KvUsage, []);
    names.replace(Signal.GpuUtilization, [text("DCGM_FI_DEV_GPU_UTIL")]);
    const reader = new MetricsReader(names);
    read(reader, "my_old_queue 4\nmy_queue 3\nvllm:num_requests_waiting 9\n");
    expect(shown(reader.report(0))).toBe("?/3.0/?");
    read(reader, 'q{kind="run"} 4\nq{kind="wait"} 5\nvllm:kv_cache_usage_perc 0.5\n');
    expect(shown(reader.report(0))).toBe("?/5.0/?");
    read(reader, "vllm:num_requests_running 2\nDCGM_FI_DEV_GPU_UTIL 1\n");
    expect(shown(reader.report(0))).toBe("2.0/?/?");
    expect(reader.report(0).gpuUtilization).toBe(0.01);
  });
});

describe("adapters", () => {
  it("are those of the newest list of each engine", () => {
    read(
      own,
      'vllm:lora_requests_info{running_lora_adapters="a,b",waiting_lora_adapters="c"} 5\n' +
        'vllm:lora_requests_info{running_lora_adapters="old",waiting_lora_adapters=""} 4\n' +
        'vllm:lora_requests_info{engine="1",running_lora_adapters="c",waiting_lora_adapters=""} 1\n',
    );
    expect(adapter("a")).toBe("loaded");
    expect(adapter("b")).toBe("loaded");
    expect(adapter("c")).toBe("waiting loaded");
    expect(adapter("old")).toBe("");
  });
});

function adapter(name: string): string {
  const bytes = text(name);
  const report = own.report(0);
  let said = "";
  for (let i = 0; i < report.modelCount; i++) {
    if (report.modelHash(i) != hashBytes(bytes.ptr, bytes.len)) continue;
    said += (said.length == 0 ? "" : " ") + (report.modelLoaded(i) ? "loaded" : "waiting");
  }
  return said;
}

describe("isAtIp", () => {
  it("compares the host part of an address", () => {
    expect(at("10.0.0.1:8000", "10.0.0.1")).toBe(true);
    expect(at("10.0.0.1:8000", "10.0.0.11")).toBe(false);
    expect(at("10.0.0.1:8000", "10.0.0")).toBe(false);
    expect(at("[fd00::1]:8000", "fd00::1")).toBe(true);
    expect(at("[fd00::1]:8000", "[fd00::1]")).toBe(true);
    expect(at("x", "")).toBe(false);
  });
});

function at(address: string, ip: string): bool {
  const a: Text = text(address);
  const b: Text = text(ip);
  return isAtIp(a.ptr, a.len, b.ptr, b.len);
}
