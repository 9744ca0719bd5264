import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "./clock.ts";
import { messages, post, testModule, testRoot } from "./fixture.ts";
import { VmTrap } from "./guest.ts";
import { Host } from "./host.ts";

function ticks(host: Host): bigint {
  return host.shared("test").get("ticks")?.value.readBigUInt64LE() ?? 0n;
}

describe("roots", () => {
  it("accepts or refuses a configuration", () => {
    assert.equal(testRoot("").root.accepted, true);
    assert.equal(testRoot("x".repeat(100_000)).root.accepted, true);
    assert.equal(testRoot("refuse").root.accepted, false);
  });

  it("refuses the VM's configuration", () => {
    const vm = new Host().createVm(testModule(), { vmConfig: "refuse" });
    assert.equal(vm.createRoot().accepted, false);
  });

  it("holds several roots in one VM, each with its own configuration", () => {
    const { host, root } = testRoot("trace");
    const blind = root.vm.createRoot({ rootId: "b", config: "blind" });
    assert.deepEqual(messages(host), ["configured a trace", "configured b blind"]);
    const unseen = blind.createStream();
    unseen.requestHeaders(post({ "x-at-headers": "8" }), true);
    assert.equal(unseen.localReply, undefined);
    const seen = root.createStream();
    seen.requestHeaders(post({ "x-at-headers": "8" }), true);
    assert.equal(seen.localReply?.status, 403);
  });

  it("takes a new configuration", () => {
    const { host, root } = testRoot("one");
    assert.equal(root.configure(Buffer.from("refuse")), false);
    assert.equal(root.configure(Buffer.from("two")), true);
    assert.deepEqual(messages(host), ["configured a one", "configured a two"]);
  });

  it("ends roots cleanly, also with streams open", () => {
    const { host, root } = testRoot("");
    root.vm.createRoot({ rootId: "b" });
    root.createStream().requestHeaders(post());
    host.logs.length = 0;
    root.vm.shutdown();
    assert.deepEqual(
      messages(host).map((line) => line.replace(/ at .*/, "")),
      ["root done", "root deleted", "root done", "root deleted"],
    );
    assert.equal(root.vm.roots.length, 0);
  });

  it("never traps on ids that it doesn't know", () => {
    const { root } = testRoot("");
    const { exports } = root.guest;
    for (const id of [0, 77, 0x7fffffff, -1]) {
      for (const [name, call] of Object.entries(exports)) {
        if (name.startsWith("proxy_on_") && name !== "proxy_on_memory_allocate") {
          assert.doesNotThrow(() => call?.(id, 1, 1, 1, 1), `${name} of ${id}`);
        }
      }
    }
  });

  it("asks for nothing but what stock Envoy offers", () => {
    const asked = WebAssembly.Module.imports(testModule());
    const beside = asked.filter(({ module }) => module !== "env").map((each) => each.name);
    // Of WASI, which is not the host's ABI: the clock that nobody sets.
    assert.deepEqual(beside, ["clock_time_get"]);
    const exported = WebAssembly.Module.exports(testModule()).map((each) => each.name);
    for (const name of ["_initialize", "proxy_abi_version_0_2_1", "memory", "malloc"]) {
      assert.ok(exported.includes(name), name);
    }
    assert.ok(!exported.includes("_start"));
  });
});

describe("ticks", () => {
  it("come in each VM, which share data", () => {
    const { host, root } = testRoot("");
    host.createVm(testModule(), { vmId: "test" }).createRoot();
    host.createVm(testModule(), { vmId: "other" }).createRoot();
    root.vm.tick();
    assert.equal(ticks(host), 1n);
    host.advance(1000);
    assert.equal(ticks(host), 21n);
    assert.equal(host.shared("other").get("ticks")?.value.readBigUInt64LE(), 10n);
  });

  it("move the clock to when they are due", () => {
    const clock = new ManualClock(1000);
    const { host, root } = testRoot("", { clock });
    host.advance(99.5);
    assert.equal(ticks(host), 0n);
    host.advance(0.5);
    assert.equal(ticks(host), 1n);
    host.advance(250.25);
    assert.equal(clock.ms, 1350.25);
    assert.equal(ticks(host), 3n);
    assert.equal(root.nextTickNs, 1_400_000_000n);
  });
});

describe("traps", () => {
  it("throw, kill the VM, and fail what follows", () => {
    const { host, root } = testRoot("");
    const first = root.createStream();
    first.requestHeaders(post());
    const trapped = root.createStream();
    assert.throws(() => trapped.requestHeaders(post({ "x-at-headers": "9" })), VmTrap);
    assert.equal(trapped.localReply?.status, 503);
    assert.equal(root.vm.dead, true);
    first.responseHeaders([[":status", "200"]]);
    assert.equal(first.resetReason, "wasm_fail_stream");
    const after = root.createStream();
    after.requestHeaders(post(), true);
    assert.equal(after.localReply?.status, 503);
    host.advance(1000);
    root.vm.shutdown();
  });

  it("lead to a new VM with the same roots, where asked for", () => {
    const { host, root } = testRoot("", { reloadOnTrap: true, throwOnTrap: false });
    root.vm.createRoot({ rootId: "b", config: "blind" });
    const trapped = root.createStream();
    trapped.requestHeaders(post({ "x-at-headers": "9" }));
    assert.equal(trapped.localReply?.status, 503);
    const next = root.createStream();
    next.requestHeaders(post(), true);
    assert.equal(next.request.sentEnd, true);
    assert.equal(root.vm.reloads, 1);
    assert.equal(messages(host).filter((line) => line.startsWith("configured")).length, 4);
  });

  it("are refusals in a configuration", () => {
    const { root } = testRoot("trap", { throwOnTrap: false });
    assert.equal(root.accepted, false);
    assert.throws(() => testRoot("trap"), VmTrap);
  });
});
