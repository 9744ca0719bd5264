/** `npm run doctor`: checks a running Envoy with warmroute and says what to do. */
import { parseArgs } from "node:util";
import { commandLine, number } from "../commandline.ts";
import { bold, dim, green, orange, padEnd, red, wrap } from "../start/terminal.ts";
import { examine } from "./examine.ts";
import type { Finding } from "./finding.ts";

const USAGE = `npm run doctor -- [options]

Checks the configuration and the statistics of a running Envoy.

  --admin URL     Envoy's admin interface (http://127.0.0.1:9901)
  --seconds N     how long to watch its polls (3)
  --json          findings as JSON

Exit code: 0 all well or only warnings, 1 something fails, 2 no Envoy answers there.
`;

const NAME_COLUMNS = 22;
const MARKS = { ok: green("ok  "), warn: orange("warn"), fail: red("FAIL") };

function table(findings: Finding[], columns: number): string[] {
  const indent = 2 + 4 + 2 + NAME_COLUMNS;
  const text = (words: string) => wrap(words, Math.max(30, columns - indent));
  return findings.flatMap(({ level, name, says, remedy }) => {
    const [first = "", ...more] = text(says);
    return [
      `  ${MARKS[level]}  ${padEnd(bold(name), NAME_COLUMNS)}${first}`,
      ...more.map((line) => " ".repeat(indent) + line),
      ...(remedy === "" ? [] : text(`→ ${remedy}`).map((line) => " ".repeat(indent) + dim(line))),
    ];
  });
}

const { admin, seconds, json } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      admin: { type: "string", default: "http://127.0.0.1:9901" },
      seconds: { type: "string", default: "3" },
      json: { type: "boolean", default: false },
    },
  });
  if (!/^https?:\/\//.test(values.admin)) {
    throw new RangeError(`--admin: expected http://address:port, got "${values.admin}"`);
  }
  return { ...values, seconds: number("--seconds", values.seconds, 0, 3600) };
});

try {
  const findings = await examine(admin, seconds * 1000);
  const many = (level: string) => findings.filter((finding) => finding.level === level).length;
  if (json) console.log(JSON.stringify(findings, null, 2));
  else {
    console.log(`\n${table(findings, process.stdout.columns ?? 100).join("\n")}\n`);
    console.log(`  ${many("ok")} ok, ${many("warn")} warnings, ${many("fail")} failures\n`);
  }
  process.exit(many("fail") > 0 ? 1 : 0);
} catch (error) {
  console.error((error as Error).message);
  process.exit(2);
}
