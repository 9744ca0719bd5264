/** `node --import tsx tools/checkers/main.ts`: builds the checkers that tests use where they are there. */
import { fetchCheckers } from "./programs.ts";

const failed = fetchCheckers();
for (const why of failed) console.error(why);
process.exitCode = failed.length > 0 ? 1 : 0;
