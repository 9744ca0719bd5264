import {
  Admission,
  Affinity,
  Config,
  Cost,
  Discovery,
  Health,
  Metrics,
  Peers,
  Routing,
  Status,
} from "./config";
import { Section } from "./fields";
import { Shape } from "./shapes";

/** Every field of the configuration, section by section; the first section is the top level. */
export function sectionsOf(config: Config): Array<Section> {
  return [
    top(config),
    discovery(changetype<usize>(config.discovery)),
    metrics(changetype<usize>(config.metrics)),
    routing(changetype<usize>(config.routing)),
    affinity(changetype<usize>(config.affinity)),
    cost(changetype<usize>(config.cost)),
    health(changetype<usize>(config.health)),
    admission(changetype<usize>(config.admission)),
    peers(changetype<usize>(config.peers)),
    status(changetype<usize>(config.status)),
  ];
}

function top(config: Config): Section {
  const s = new Section("", changetype<usize>(config));
  s.list("hosts", offsetof<Config>("hosts"), Shape.Address, 512);
  s.integer("inspect_limit_bytes", offsetof<Config>("inspectLimitBytes"), 4096, 67108864);
  s.flag("debug_headers", offsetof<Config>("debugHeaders"));
  s.flag("access_log_fields", offsetof<Config>("accessLogFields"));
  return s;
}

function discovery(base: usize): Section {
  const s = new Section("discovery", base);
  s.word("source", offsetof<Discovery>("source"), ["none", "envoy_admin"]);
  s.text("cluster", offsetof<Discovery>("cluster"), Shape.Cluster, 1, 256);
  s.text("path", offsetof<Discovery>("path"), Shape.Path, 1, 2048);
  s.text("target_cluster", offsetof<Discovery>("targetCluster"), Shape.Cluster, 1, 256);
  s.integer("interval_ms", offsetof<Discovery>("intervalMs"), 100, 3600000);
  s.integer("timeout_ms", offsetof<Discovery>("timeoutMs"), 10, 60000);
  return s;
}

function metrics(base: usize): Section {
  const s = new Section("metrics", base);
  s.word("source", offsetof<Metrics>("source"), ["none", "hosts", "endpoint"]);
  s.text("cluster", offsetof<Metrics>("cluster"), Shape.Cluster, 1, 256);
  s.text("path", offsetof<Metrics>("path"), Shape.Path, 1, 2048);
  s.integer("interval_ms", offsetof<Metrics>("intervalMs"), 10, 3600000);
  s.integer("timeout_ms", offsetof<Metrics>("timeoutMs"), 10, 60000);
  s.integer("stale_after_ms", offsetof<Metrics>("staleAfterMs"), 20, 86400000);
  s.text("host_label", offsetof<Metrics>("hostLabel"), Shape.Label, 1, 128);
  s.names("names", offsetof<Metrics>("names"), 16);
  return s;
}

function routing(base: usize): Section {
  const s = new Section("routing", base);
  s.text("header", offsetof<Routing>("header"), Shape.Header, 1, 128);
  s.integer("fallbacks", offsetof<Routing>("fallbacks"), 0, 16);
  s.list("paths", offsetof<Routing>("paths"), Shape.PathEntry, 64);
  s.word("mode", offsetof<Routing>("mode"), ["enforce", "shadow"]);
  return s;
}

function affinity(base: usize): Section {
  const s = new Section("affinity", base);
  s.list("headers", offsetof<Affinity>("headers"), Shape.SessionHeader, 16);
  s.list("body_fields", offsetof<Affinity>("bodyFields"), Shape.BodyField, 16);
  s.text("tenant_header", offsetof<Affinity>("tenantHeader"), Shape.Header, 0, 128);
  s.text("hash_secret", offsetof<Affinity>("hashSecret"), Shape.Secret, 0, 256);
  s.integer("table_bytes", offsetof<Affinity>("tableBytes"), 65536, 268435456);
  return s;
}

function cost(base: usize): Section {
  const s = new Section("cost", base);
  s.number("bytes_per_token", offsetof<Cost>("bytesPerToken"), 1, 16);
  s.integer("tokens_per_image", offsetof<Cost>("tokensPerImage"), 0, 100000);
  s.number("prefill_ms_per_token", offsetof<Cost>("prefillMsPerToken"), 0.0001, 1000);
  s.number("decode_step_ms", offsetof<Cost>("decodeStepMs"), 0, 10000);
  s.number("decode_ms_per_sequence", offsetof<Cost>("decodeMsPerSequence"), 0, 1000);
  s.integer("cache_capacity_tokens", offsetof<Cost>("cacheCapacityTokens"), 1000, 1000000000);
  s.integer("output_tokens", offsetof<Cost>("outputTokens"), 1, 1000000);
  s.flag("learn", offsetof<Cost>("learn"));
  s.number("others_wait_weight", offsetof<Cost>("othersWaitWeight"), 0, 10);
  s.number("eviction_weight", offsetof<Cost>("evictionWeight"), 0, 10);
  s.number("kv_pressure_weight", offsetof<Cost>("kvPressureWeight"), 0, 10);
  s.number("gpu_pressure_weight", offsetof<Cost>("gpuPressureWeight"), 0, 10);
  s.number("tie_ms", offsetof<Cost>("tieMs"), 0, 10000);
  s.number("home_weight", offsetof<Cost>("homeWeight"), 0, 100);
  return s;
}

function health(base: usize): Section {
  const s = new Section("health", base);
  s.integer("failures", offsetof<Health>("failures"), 1, 1000);
  s.integer("eject_ms", offsetof<Health>("ejectMs"), 100, 3600000);
  s.integer("eject_max_ms", offsetof<Health>("ejectMaxMs"), 100, 86400000);
  s.integer("silence_ms", offsetof<Health>("silenceMs"), 0, 86400000);
  return s;
}

function admission(base: usize): Section {
  const s = new Section("admission", base);
  s.flag("enabled", offsetof<Admission>("enabled"));
  s.integer("max_wait_ms", offsetof<Admission>("maxWaitMs"), 1, 3600000);
  s.integer("late_binding_ms", offsetof<Admission>("lateBindingMs"), 1, 3600000);
  s.integer("tpot_ms", offsetof<Admission>("tpotMs"), 0, 60000);
  s.integer("max_waiting", offsetof<Admission>("maxWaiting"), 1, 1000000);
  s.number("max_kv_usage", offsetof<Admission>("maxKvUsage"), 0.01, 1);
  s.integer("queue_limit", offsetof<Admission>("queueLimit"), 0, 100000);
  s.size("queue_bytes", offsetof<Admission>("queueBytes"), 0, 1099511627776);
  s.integer("queue_timeout_ms", offsetof<Admission>("queueTimeoutMs"), 1, 3600000);
  s.word("slo", offsetof<Admission>("slo"), ["reject", "lower"]);
  s.text("priority_header", offsetof<Admission>("priorityHeader"), Shape.Header, 0, 128);
  s.list("high_priority", offsetof<Admission>("highPriority"), Shape.PathOrModel, 64);
  s.list("low_priority", offsetof<Admission>("lowPriority"), Shape.PathOrModel, 64);
  s.text("tenant_header", offsetof<Admission>("tenantHeader"), Shape.Header, 0, 128);
  s.learned("heavy_prompt_tokens", offsetof<Admission>("heavyPromptTokens"), 1, 100000000);
  s.number("heavy_share", offsetof<Admission>("heavyShare"), 0.01, 1);
  return s;
}

function peers(base: usize): Section {
  const s = new Section("peers", base);
  s.flag("serve", offsetof<Peers>("serve"));
  s.text("cluster", offsetof<Peers>("cluster"), Shape.Cluster, 0, 256);
  s.list("hosts", offsetof<Peers>("hosts"), Shape.Address, 64);
  s.text("path", offsetof<Peers>("path"), Shape.Path, 1, 256);
  s.integer("push_tokens", offsetof<Peers>("pushTokens"), 0, 1000000);
  s.integer("gap_ms", offsetof<Peers>("gapMs"), 0, 1000);
  s.integer("full_ms", offsetof<Peers>("fullMs"), 50, 60000);
  s.integer("timeout_ms", offsetof<Peers>("timeoutMs"), 10, 60000);
  return s;
}

function status(base: usize): Section {
  const s = new Section("status", base);
  s.text("path", offsetof<Status>("path"), Shape.Path, 0, 256);
  return s;
}
