/** The readers of servers' answers: one file, so that their test entry is compiled once. */
import "./metrics.formats.ts";
import "./metrics.answers.ts";
import "./metrics.streams.ts";
import "./metrics.damage.ts";
import "./metrics.parsed.ts";
