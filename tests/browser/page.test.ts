import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { Page } from "playwright-core";
import { operators } from "../../tools/envoy/operators.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { gateway, inParallel, post, send } from "../e2e/harness.ts";
import { until } from "../e2e/until.ts";
import { startServers } from "../llm/fleet.ts";
import { SHOTS, skip, startBrowser, VIEWPORTS } from "./browser.ts";

const PATH = "/warmroute/status";

/** Text of each cell of a table, by the label that a phone shows for it. */
function table(page: Page, body: string): Promise<Record<string, string>[]> {
  return page.$$eval(`#${body} tr`, (rows) =>
    rows.map((row) =>
      Object.fromEntries(
        [...row.querySelectorAll("td")].map((cell) => [
          cell.dataset.l,
          (cell.textContent ?? "").trim(),
        ]),
      ),
    ),
  );
}

test("the status page in a browser, over real traffic", { skip }, async () => {
  const fleet = await startServers(3, { timeScale: 20, engine: { cacheTokens: 20_000 } });
  after(() => fleet.stop());
  const [port = 0] = await freePorts(1);
  const metrics = { source: "hosts", interval_ms: 100, timeout_ms: 80 };
  const envoy = await gateway(
    fleet.addresses,
    { metrics, discovery: { source: "envoy_admin" } },
    { edit: (yaml) => operators(yaml, port, PATH), workers: 2 },
  );
  let serial = 0;
  const traffic = (requests: number) =>
    inParallel(Array.from({ length: requests }), 4, async () => {
      const content = `Which berth is free for ship ${serial % 5}? `.repeat(60);
      const question = { role: "user", content: `${content} ${serial++ > 20}` };
      const stream_options = { include_usage: true };
      const body = {
        model: "m",
        messages: [question],
        max_tokens: 8,
        stream: true,
        stream_options,
      };
      assert.equal((await post(envoy.port, body)).status, 200);
    });
  await traffic(40);

  const browser = await startBrowser();
  const page = await browser.newPage({ viewport: VIEWPORTS.wide });
  const faults: string[] = [];
  const asked = new Set<string>();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => asked.add(request.url()));
  const url = `http://127.0.0.1:${port}${PATH}`;
  // Clients don't get it.
  const seen = await send({ port: envoy.port, path: PATH });
  assert.doesNotMatch(seen.body.toString(), /<title>warmroute/);
  await page.goto(url);
  await page.waitForSelector("#rows tr:nth-child(3)");

  // On a busy machine reports are late now and then.
  let servers: Awaited<ReturnType<typeof table>> = [];
  await until("all reports", async () => {
    servers = await table(page, "rows");
    return servers.every((server) => server.state === "ok" && /\d/.test(server.running ?? ""));
  });
  assert.deepEqual(servers.map(({ server }) => server).sort(), [...fleet.addresses].sort());
  for (const server of servers) {
    assert.match(server.running ?? "", /^\d+$/);
    assert.match(server["cache filled"] ?? "", /^<?\d+ %$/);
    assert.match(server["report age"] ?? "", /^\d+\.\d s$/);
  }
  assert.ok(servers.some((server) => /^[1-9]\d* %$/.test(server["cache filled"] ?? "")));
  assert.ok(servers.some((server) => /^\d+\.\d$/.test(server["prefill, ms per 1k tokens"] ?? "")));
  const reasons = await table(page, "why");
  assert.equal(
    reasons.reduce((sum, { requests }) => sum + Number(requests), 0),
    40,
  );
  assert.ok(reasons.some(({ reason }) => reason === "prefix"));
  assert.ok(reasons.every(({ meaning }) => (meaning ?? "").length > 5));

  // It goes on by itself.
  await traffic(10);
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('#why td[data-l="requests"]')].reduce(
        (sum, cell) => sum + Number(cell.textContent),
        0,
      ) === 50,
    undefined,
    { timeout: 60_000 },
  );

  for (const [name, viewport] of Object.entries(VIEWPORTS)) {
    await page.setViewportSize(viewport);
    const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(scrollWidth <= viewport.width, `${name}: ${scrollWidth} px wide`);
    for (const colorScheme of ["light", "dark"] as const) {
      if (SHOTS === undefined) continue;
      const busy = traffic(40);
      await page.waitForTimeout(1100);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${SHOTS}/status-${name}-${colorScheme}.png`, fullPage: true });
      await busy;
    }
  }
  assert.deepEqual(faults, []);
  assert.deepEqual([...asked].filter((address) => !address.startsWith("data:")).sort(), [
    url,
    `${url}.json`,
  ]);

  // Envoy goes away: the page says so and keeps what it has.
  await envoy.stop();
  await page.waitForFunction(() => document.body.textContent?.includes("No data"), undefined, {
    timeout: 60_000,
  });
  assert.equal((await table(page, "rows")).length, 3);
});
