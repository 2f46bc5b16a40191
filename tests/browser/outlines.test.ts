import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import {
  BROWSER_PATIENCE_MS,
  BROWSER_SUITE_TIMEOUT_MS,
  launchChromium,
  withoutChromium,
} from "./chromium.rig.ts";
import { listPages, type PageHostRig, startCloudHost, startStillLocalHost } from "./hosts.rig.ts";
import { MAX_LAYOUT_SHIFT, readLayoutShift } from "./layout-faults.rig.ts";

// The days of a local page are those of this process.
process.env.TZ = "UTC";

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

/** The pages that both hosts have, and an address without dimensions that only one of them has. */
const SHARED: readonly (readonly [name: string, path: string])[] = [
  ["now", "/now"],
  ["overview", "/"],
  ["overview of 7 days", "/?period=7d&by=project&metric=tokens"],
  ["explore", "/explore"],
  ["chart", "/explore?view=chart&by=model&bucket=week"],
  ["cumulative sums", "/explore?by=model&bucket=week&cumulative=yes"],
  ["sessions", "/sessions?sort=cost"],
  ["session", "session"],
  ["requests", "/requests?columns=project,model,input,cached,output,cost,duration,status"],
  ["most expensive requests", "/requests?sort=cost&period=7d&columns=project,model,cost"],
  ["request", "request"],
  ["projects", "/projects"],
  ["models", "/models"],
  ["models on another", "/models?as=openai/gpt-5"],
  ["unused models", "/models?models=unused&q=gemini"],
  ["savings", "/savings"],
  ["limits", "/limits"],
  ["coverage", "/coverage"],
  ["statement", "/statement/2026-11"],
];

/** Parts whose text has what only one host knows: the program, the person, the address of a call, and the digest of these. */
const OWN_TEXT: readonly string[] = [
  "session summary",
  "request Call",
  "coverage What was not metered, or only in part",
  "statement Statement for November 2026",
  "statement Notes",
];

/** Parts that only the local pages have. */
const LOCAL_PARTS: readonly string[] = [
  "now In flight",
  "overview Programs",
  "overview Providers",
  "overview of 7 days Programs",
  "overview of 7 days Providers",
  "limits Budgets",
  "coverage Cloud",
];

/** Parts that only the pages of a workspace have. */
const CLOUD_PARTS: readonly string[] = [
  "now summary",
  "now Budgets",
  "overview People",
  "overview Machines",
  "overview of 7 days People",
  "overview of 7 days Machines",
  "request Prompt and answer",
  "coverage By machine",
  "statement People",
];

/**
 * Reads the parts of a page: its summary, its figures, and its panels by their name. Columns that only one host knows are left out:
 * programs are not sent to a cloud, and all requests of a machine are of one machine and person. So are the machine's name and the
 * note that a failed call's model is the one that was asked for.
 */
const READ_PARTS = `(() => {
  for (const each of document.querySelectorAll("main details")) each.open = true;
  for (const table of document.querySelectorAll("main table")) {
    const heads = [...table.querySelectorAll("thead th")];
    const own = heads.flatMap((head, at) => ["Program", "Person", "Machine"].includes(head.textContent.trim()) ? [at] : []);
    for (const row of table.rows) for (const at of own.toReversed()) row.cells[at]?.remove();
  }
  const text = (element) => element.innerText.replace(/\\s+/g, " ").replaceAll(/ (?:on )?laptop\\b| \\(requested\\)/g, "").trim();
  return [
    ...[...document.querySelectorAll("main [data-summary]")].slice(0, 1).map((each) => ["summary", text(each)]),
    ...[...document.querySelectorAll("main dl.figures > div")].map((each) => [text(each.querySelector("dt")), text(each)]),
    ...[...document.querySelectorAll("main section.panel, main #list")].map((each) => [text(each.querySelector("h2") ?? each.querySelector("table") ?? each).slice(0, 40), text(each)]),
  ];
})()`;

describe("the outlines of pages", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let browser: Browser;
  const hosts: PageHostRig[] = [];
  before(async () => {
    browser = await launchChromium();
    for (const start of [startCloudHost, startStillLocalHost]) hosts.push(await start(false));
  });
  after(async () => {
    await browser?.close();
    await Promise.all(hosts.map((host) => host.close()));
  });

  it("equal the accepted ones", async () => {
    if (WRITES) mkdirSync(FOLDER, { recursive: true });
    for (const host of hosts) {
      const context = await host.open(browser, { viewport: { width: 1440, height: 900 } });
      context.setDefaultTimeout(BROWSER_PATIENCE_MS);
      const page = await context.newPage();
      for (const [name, path] of await listPages(browser, host)) {
        if (host.name === "cloud" && LEFT_OUT.includes(name)) continue;
        await page.goto(`${host.origin}${path}`);
        const shift = await readLayoutShift(page);
        assert.ok(shift < MAX_LAYOUT_SHIFT, `${host.name} ${name} moves by ${shift}`);
        const outline = `${withoutIds(await page.locator("main").ariaSnapshot())}\n`;
        const file = `${FOLDER}${host.name === "cloud" ? "" : "local-"}${name}.txt`;
        if (WRITES) writeFileSync(file, outline);
        assert.equal(outline, readFileSync(file, "utf8"), `${host.name} ${name}`);
      }
      await context.close();
    }
  });

  it("have equal text on both hosts for equal data", async () => {
    const texts = await Promise.all(
      hosts.map(async (host) => {
        const context = await host.open(browser, { viewport: { width: 1440, height: 900 } });
        context.setDefaultTimeout(BROWSER_PATIENCE_MS);
        const page = await context.newPage();
        const parts: Record<string, string> = {};
        for (const [name, path] of SHARED) {
          const own = host.more[path] ?? (`${host.base}${path}`.replace(/\/(?=\?|$)/, "") || "/");
          const answer = await page.goto(`${host.origin}${own}`);
          assert.equal(answer?.status(), 200, `${host.name} ${own}`);
          for (const [part, text] of (await page.evaluate(READ_PARTS)) as [string, string][])
            parts[`${name} ${part}`] = text;
        }
        await context.close();
        return parts;
      }),
    );
    const [cloud = {}, local = {}] = texts;
    const both = Object.keys(cloud).filter((part) => part in local);
    const shared = (parts: Record<string, string>) =>
      both.filter((part) => !OWN_TEXT.includes(part)).map((part) => [part, parts[part]]);
    assert.deepEqual(shared(local), shared(cloud));
    const alone = (one: Record<string, string>, other: Record<string, string>) =>
      Object.keys(one).filter((part) => !(part in other));
    assert.deepEqual(alone(local, cloud), LOCAL_PARTS);
    assert.deepEqual(alone(cloud, local), CLOUD_PARTS);
  });
});
