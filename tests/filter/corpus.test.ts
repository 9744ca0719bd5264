import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { Gateway, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";

const BODIES = new URL("../fixtures/bodies/", import.meta.url);
const KIB = 1024;

test("no body of the cases makes a VM trap, however it is cut (BC-37)", () => {
  const gateway = new Gateway(hostNames(3), { workers: 2 });
  const next = random(37);
  const files = readdirSync(BODIES).map((name) => readFileSync(new URL(name, BODIES)));
  const paths = ["/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"];
  for (let i = 0; i < 2000; i++) {
    const file = files[i % files.length] as Buffer;
    const end = next() < 0.5 ? file.length : Math.floor(next() * file.length);
    const body = Buffer.from(file.subarray(0, end));
    for (let change = Math.floor(next() * 4); change > 0 && body.length > 0; change--) {
      body[Math.floor(next() * body.length)] = Math.floor(next() * 256);
    }
    const path = paths[i % paths.length] as string;
    const exchange = gateway.send(body, {
      worker: i % 2,
      path,
      chunk: 1 + Math.floor(next() * 999),
    });
    exchange.answer({ host: exchange.target ?? "10.0.0.1:8000" });
  }
  assert.equal(gateway.stat("internal_errors_total"), 0);
  assert.equal(gateway.send({ model: "m", prompt: "Still there?" }).choice.length, 3);
});

test("memory stays as it is over 64 KiB bodies of all kinds of text (BC-37)", () => {
  const gateway = new Gateway(hostNames(4));
  const next = random(64);
  const memory: number[] = [];
  for (let i = 0; i < 4000; i++) {
    const content = prose(24, next) + 'abc \u00e9\u6771 \\n"'.repeat(4 * KIB);
    const body = JSON.stringify({
      model: "m",
      user: `u${i % 500}`,
      messages: [{ role: "user", content: content.slice(0, 48 * KIB) }],
    });
    gateway.send(body).answer();
    if (i % 100 === 0) gateway.host.advance(1000);
    if (i % 500 === 499) memory.push(gateway.host.vms[0]?.memoryBytes ?? 0);
  }
  const [warm = 0] = memory.slice(1);
  assert.ok((memory.at(-1) ?? 0) <= warm, memory.map((bytes) => bytes / KIB).join(", "));
});
