/** Requests go to servers that serve their model or adapter. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway, hostNames, listed, tally } from "./gateway.ts";

const NAMES = hostNames(3);

/** A gateway whose servers report these names. */
function serving(
  pages: Record<string, { model?: string; loaded?: string; waiting?: string }>,
): Gateway {
  const gateway = new Gateway(Object.keys(pages), {
    config: { metrics: { interval_ms: 500 } },
    onCall: (call) => {
      const { model, loaded, waiting } = pages[call.headers.get(":authority") ?? ""] ?? {};
      const label = model === undefined ? "" : `{model_name="${model}"}`;
      const lora =
        loaded === undefined
          ? ""
          : `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${loaded}",waiting_lora_adapters="${waiting ?? ""}"} 1790000000\n`;
      call.respond(200, `vllm:num_requests_running${label} 0\n${lora}`);
    },
  });
  gateway.host.advance(1500);
  return gateway;
}

test("a request goes only to servers of its model, where one is known", () => {
  const [a, b, c] = NAMES as [string, string, string];
  const gateway = serving({ [a]: { model: "m1" }, [b]: { model: "m2" }, [c]: {} });
  assert.deepEqual(listed(gateway, "m1"), [a, c]);
  assert.deepEqual(listed(gateway, "m2"), [b, c]);
  // A name that nobody reports may be a second name of any of them.
  assert.deepEqual(listed(gateway, "alias"), NAMES);
  const none = gateway.send({ messages: [{ role: "user", content: "no model" }] });
  assert.equal(none.choice.length, 3);
});

test("a loaded adapter is preferred, elsewhere it can be loaded, another base model comes last", () => {
  const [a, b, c] = NAMES as [string, string, string];
  const gateway = serving({
    [a]: { model: "base", loaded: "chess,go" },
    [b]: { model: "base", loaded: "go", waiting: "chess" },
    [c]: { model: "other" },
  });
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < 30; i++) {
    const { choice, target } = gateway.send(chat(`move ${i * 7919}`, { model: "chess" })).answer();
    targets.push(target);
    assert.equal(choice[2], c);
  }
  assert.equal(tally(targets).get(a), 30);
  // Loading it is worth it once there is enough to do.
  const open = Array.from(
    { length: 180 },
    (_, i) => gateway.send(chat(`open ${i * 7919}`, { model: "chess" })).target,
  );
  const counts = tally(open);
  assert.ok((counts.get(b) ?? 0) > 0 && (counts.get(a) ?? 0) > (counts.get(b) ?? 0));
  assert.equal(counts.get(c), undefined);
});
