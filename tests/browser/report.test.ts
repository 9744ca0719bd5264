import assert from "node:assert/strict";
import test from "node:test";
import { generate } from "../sim/generators/index.ts";
import { htmlPage } from "../sim/html.ts";
import { POLICY_NAMES, parseOptions } from "../sim/options.ts";
import { makeReport } from "../sim/report.ts";
import { runOptions, runPolicy } from "../sim/run.ts";
import { summarise } from "../sim/summary.ts";
import { SHOTS, skip, startBrowser, VIEWPORTS } from "./browser.ts";

/** A page as `npm run sim -- --html` writes it, of all policies that need no filter. */
function reportPage(): string {
  const options = parseOptions(["--trace", "generated:hot-prefix", "--rate", "1,2"]);
  const workload = generate("hot-prefix", { seed: 1, requests: 100 });
  const policies = POLICY_NAMES.filter((name) => name !== "warmroute");
  const runs = policies.map((name) => {
    const result = runPolicy(name, workload, runOptions({}));
    return { result, summary: summarise(result, options.slo) };
  });
  const summaries = runs.map(({ summary }) => summary);
  const rates = options.rates.map((rate) => ({ rate, summaries }));
  return htmlPage(makeReport(options, workload.name, rates), runs);
}

test("the simulation's report in a browser: fits, light and dark, each policy told apart", {
  skip,
}, async () => {
  const browser = await startBrowser();
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("console", (message) => faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => faults.push(`asks for ${request.url()}`));
  await page.setContent(reportPage());
  for (const [name, viewport] of Object.entries(VIEWPORTS)) {
    await page.setViewportSize(viewport);
    const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(scrollWidth <= viewport.width, `${name}: ${scrollWidth} px wide`);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const isDark = ground.match(/\d+/g)?.every((part) => Number(part) < 64);
      assert.equal(isDark, colorScheme === "dark", `${colorScheme}: ${ground}`);
      // Colours that a style sheet doesn't know would all be black.
      const looks = await page.$$eval("svg path[stroke-width='2.5']", (lines) =>
        lines.map((line) => {
          const { stroke, strokeDasharray } = getComputedStyle(line);
          return `${line.textContent}: ${stroke} ${strokeDasharray}`;
        }),
      );
      // One line a policy in each of two charts, alike in both.
      assert.equal(looks.length, 2 * 10);
      assert.equal(new Set(looks).size, 10);
      assert.equal(new Set(looks.map((look) => look.split(": ")[1])).size, 10);
      if (SHOTS === undefined) continue;
      await page.screenshot({ path: `${SHOTS}/report-${name}-${colorScheme}.png`, fullPage: true });
    }
  }
  assert.deepEqual(faults, []);
});
