import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after } from "node:test";
import { type Browser, chromium } from "playwright-core";

/** Debian's name, and those of other systems. */
const BROWSER = ["chromium", "chromium-browser", "google-chrome"]
  .flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

/** Why tests are skipped that need a browser; false where one is there. */
export const skip = BROWSER === undefined && "no chromium here: install Debian's package chromium";

/** A folder for screenshots, for people to look at. */
export const SHOTS = process.env.WARMROUTE_SCREENSHOTS;

export const VIEWPORTS = {
  wide: { width: 1200, height: 800 },
  phone: { width: 400, height: 800 },
};

/** Starts a browser; it ends with the test. */
export async function startBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-component-update"];
  const browser = await chromium.launch({ executablePath: BROWSER ?? "", args });
  after(() => browser.close());
  return browser;
}
