import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { BROWSER_SUITE_TIMEOUT_MS, launchChromium, withoutChromium } from "./chromium.rig.ts";
import { listPages, type PageHostRig, startCloudHost } from "./hosts.rig.ts";

/** The accessibility tree of each page. `METER_WRITE_OUTLINES=1 node --test tests/browser/outlines.test.ts` writes the trees again. */
const FOLDER = fileURLToPath(new URL("outlines/", import.meta.url));
const WRITES = process.env.METER_WRITE_OUTLINES === "1";

/** The maximum number of lines of an outline. A longer one is cut off. */
const MAX_LINES = 150;

/** Pages that other tests check: forms alone, and lists whose equal items are in no fixed order. */
const LEFT_OUT = [
  ...["none", "connect", "account", "organisation", "audit", "audit-views", "audit-verification"],
  ...["machines", "people", "keys", "members", "coverage", "privacy"],
];

/** Replaces what differs in each run. */
const withoutIds = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/user-[\w-]+/g, "USER")
    .replaceAll(/mtr_\w+_…[\w-]+…?/g, "KEY")
    .replaceAll(/[0-9a-f]{64}/g, "DIGEST")
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .split("\n")
    .slice(0, MAX_LINES)
    .join("\n");

describe("the outlines of pages", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let browser: Browser;
  let host: PageHostRig;
  before(async () => {
    browser = await launchChromium();
    host = await startCloudHost(false);
  });
  after(async () => {
    await browser?.close();
    await host?.close();
  });

  it("equal the accepted ones", async () => {
    if (WRITES) mkdirSync(FOLDER, { recursive: true });
    const context = await host.open(browser, { viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    for (const [name, path] of await listPages(browser, host)) {
      if (LEFT_OUT.includes(name)) continue;
      await page.goto(`${host.origin}${path}`);
      const outline = `${withoutIds(await page.locator("main").ariaSnapshot())}\n`;
      const file = `${FOLDER}${name}.txt`;
      if (WRITES) writeFileSync(file, outline);
      assert.equal(outline, readFileSync(file, "utf8"), name);
    }
    await context.close();
  });
});
