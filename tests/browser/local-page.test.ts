import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { parseDecimalToPico } from "../../core/pricing/decimal.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { CLIENT_FILES } from "../../pages/frame.ts";
import { sampleRecord } from "../daemon/store/sample-records.rig.ts";
import {
  createHome,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "../end-to-end/meter-process.rig.ts";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { findBarriers, NARROW, rulesIn } from "./barriers.rig.ts";
import {
  BROWSER_PATIENCE_MS,
  BROWSER_SUITE_TIMEOUT_MS,
  launchChromium,
  withoutChromium,
} from "./chromium.rig.ts";
import { createFilledHome, sampleMonths, sampleSessions } from "./sample-home.rig.ts";

const run = promisify(execFile);
const now = Date.now();
const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>`;
const evilRecord = sampleRecord({
  requestedAt: now,
  ...{
    model: evil,
    project: evil,
    client: evil,
    provider: evil,
    path: `/${evil}`,
    requestedModel: `${evil}2`,
  },
});

const sessions = sampleSessions(now);
const [firstCall] = sessions;

/** The pages of the dashboard. */
const PAGES = [
  "",
  "?period=7d&compare=year&by=project&client=claude",
  "explore",
  "explore?view=chart&by=client&metric=tokens",
  "models",
  "projects",
  "savings",
  "savings?period=7d&project=acme-web",
  "now",
  "requests",
  "requests?status=failed&project=acme-web",
  `requests/${evilRecord.requestId}`,
  "sessions?sort=cost",
  `sessions/${firstCall?.sessionId}`,
  `sessions/${firstCall?.sessionId}?view=cost`,
  "limits",
  "coverage",
  "statement",
  "privacy",
  "settings",
];

/** The pages of a meter without a call. */
const EMPTY_PAGES = PAGES.filter((path) => !/\?|\//.test(path));

/** The pages that the tests of every page do not open: with another view, filter, order or texts. */
const OTHER_PAGES = PAGES.filter((path) => /\?|requests\//.test(path));

const CLIENT_BYTES = CLIENT_FILES.reduce((sum, { text }) => sum + gzipSync(text).length, 0);

/** The most bytes of a page with its files, compressed. */
const MAX_PAGE_BYTES = 30 * 1024;

describe("the local page in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let browser: Browser;
  let full: MeterProcess;
  let empty: MeterProcess;
  let simulation: ProviderSimulation;
  let parent: ParentProxy;

  before(async () => {
    simulation = await createProviderSimulation();
    parent = await createParentProxy(simulation);
    const records = [...sampleMonths(now).slice(-200), ...sessions, evilRecord];
    const ports = ["[proxy]", "port = 0", "[api]", "port = 0"];
    [full, empty] = await Promise.all([
      createFilledHome(ports, records, now).then((home) => startMeter(home)),
      startMeter(createHome(simulationConfig(parent, simulation))),
    ]);
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    for (const meter of [full, empty]) {
      await meter?.stop();
      if (meter !== undefined) removeHome(meter.home);
    }
    await parent?.close();
    await simulation?.close();
  });

  const addressOf = (meter: MeterProcess) => `http://127.0.0.1:${meter.apiPort}/`;

  /** Opens a page, and asserts that the browser reported no error, blocked resource or dialog. */
  async function withPage(
    address: string,
    options: BrowserContextOptions,
    work: (page: Page) => Promise<void>,
  ): Promise<void> {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", async (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on("request", (made) => {
      if (!made.url().startsWith(new URL(address).origin) && !made.url().startsWith("data:"))
        complaints.push(made.url());
    });
    try {
      const answer = await page.goto(address);
      assert.equal(answer?.status(), 200);
      await work(page);
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  }

  it("shows what was metered, in light and dark, with names for screen readers", async () => {
    const grounds: unknown[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await withPage(addressOf(full), { colorScheme }, async (page) => {
        await page.getByText("Live", { exact: true }).waitFor();
        for (const name of ["Spent by model", "Projects", "Models", "Programs", "Providers", "When"])
          assert.equal(await page.getByRole("heading", { name, exact: true }).count(), 1, name);
        for (const name of ["Projects", "Models", "Programs", "Providers"])
          assert.equal(await page.getByRole("table", { name, exact: true }).count(), 1, name);
        assert.equal(await page.getByRole("navigation", { name: "Period" }).count(), 1);
        assert.equal(await page.locator("#chart svg > a").count(), 30);
        await page.getByText("Spent by model as a table").click();
        assert.ok(await page.getByRole("region", { name: "Spent by model as a table" }).isVisible());
        assert.equal(await page.locator("#chart tbody tr").count(), 30);
        grounds.push(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
      });
    }
    assert.notEqual(grounds[0], grounds[1]);
  });

  it("leads from a bar to a day, an hour and a call", () =>
    withPage(addressOf(full), {}, async (page) => {
      await page.getByText("Spent by model as a table").click();
      await page.locator("#chart tbody a").nth(1).click();
      await page.waitForURL(/\?from=.*&to=/);
      await page.locator("#chart svg > a").nth(23).waitFor({ state: "attached" });
      assert.equal(await page.locator("#chart svg > a").count(), 96);
      await page.goto(`${addressOf(full)}explore`);
      await page.locator("#explore tbody td a").first().click();
      await page.getByRole("table", { name: "Requests" }).waitFor();
      await page.locator("tbody a").first().click();
      await page.getByRole("heading", { name: /^Request of \d{4}-/ }).waitFor();
    }));

  it("passes the accessibility checks, fits every width, and is small", async () => {
    await withPage(`${addressOf(full)}now`, {}, async (page) => {
      for (const path of OTHER_PAGES) {
        const answer = await page.goto(`${addressOf(full)}${path}`);
        const bytes = gzipSync((await answer?.body()) ?? "").length;
        assert.ok(bytes + CLIENT_BYTES <= MAX_PAGE_BYTES, `${path}: ${bytes} bytes`);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          for (const width of [320, 390, 768, 1440]) {
            await page.setViewportSize({ width, height: 900 });
            assert.equal(
              await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
              true,
              `${path} at ${width}`,
            );
            const where = `${path} at ${width}`;
            if (width === 1440) assert.deepEqual(await findBarriers(page, rulesIn(colorScheme)), [], where);
            else if (width === 320 && colorScheme === "light")
              assert.deepEqual(await findBarriers(page, NARROW), [], where);
          }
        }
      }
    });
  });

  it("has the periods of a narrow page in two rows of three, and all in one row otherwise", () =>
    withPage(`${addressOf(full)}explore`, {}, async (page) => {
      for (const [width, rows] of [
        [320, [3, 3]],
        [390, [3, 3]],
        [441, [6]],
        [1440, [6]],
      ] as const) {
        await page.setViewportSize({ width, height: 844 });
        const tops = (await page.evaluate(
          `[...document.querySelectorAll("nav[aria-label=Period] li")].slice(1, -1).map((each) => each.getBoundingClientRect().top)`,
        )) as number[];
        assert.deepEqual(
          [...Map.groupBy(tops, (top) => top).values()].map(({ length }) => length),
          rows,
          `${width}`,
        );
      }
    }));

  it("shows the same pages without scripts", () =>
    withPage(`${addressOf(full)}now`, { javaScriptEnabled: false }, async (page) => {
      for (const path of PAGES) {
        assert.equal((await page.goto(`${addressOf(full)}${path}`))?.status(), 200, path);
        assert.equal(await page.locator("main h1").count(), 1, path);
        assert.equal(await page.getByText("Copy as Markdown").isVisible(), false);
      }
      await page.goto(`${addressOf(full)}requests`);
      await page.getByRole("combobox", { name: "Status" }).selectOption("failed");
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL("**/requests?*status=failed*");
    }));

  it("keeps all state in the address, also back and forward, without loading the page again", () =>
    withPage(`${addressOf(full)}requests`, {}, async (page) => {
      await page.evaluate("window.isSamePage = true");
      await page.getByRole("combobox", { name: "Project" }).selectOption("apollo");
      await page.waitForURL("**/requests?project=apollo");
      await page.getByRole("link", { name: "7 days" }).click();
      await page.waitForURL("**/requests?period=7d&project=apollo");
      const shown = await page.locator("#list").textContent();
      await page.goBack();
      await page.waitForURL("**/requests?project=apollo");
      await page.goForward();
      await page.waitForURL("**/requests?period=7d&project=apollo");
      await page.locator("#period-7d[aria-current]").waitFor();
      assert.equal(await page.locator("#list").textContent(), shown);
      assert.equal(await page.evaluate("window.isSamePage"), true);
      const fresh = await page.context().newPage();
      await fresh.goto(page.url());
      assert.equal(await fresh.locator("#list").textContent(), shown);
      await page.getByLabel("Remove the filter Project").click();
      await page.waitForURL("**/requests?period=7d");
    }));

  it("has keyboard shortcuts, which can be switched off", () =>
    withPage(`${addressOf(full)}requests`, {}, async (page) => {
      await page.keyboard.press("w");
      await page.waitForURL("**/requests?period=7d");
      await page.getByRole("button", { name: "Keyboard shortcuts: on" }).click();
      await page.locator("body").press("q");
      await page.getByRole("button", { name: "Keyboard shortcuts: off" }).click();
      assert.ok(page.url().endsWith("?period=7d"));
      await page.locator("body").press("q");
      await page.waitForURL("**/requests?period=90d");
    }));

  it("steps the period with the arrow keys, except in fields and tables", () =>
    withPage(`${addressOf(full)}requests?period=today`, {}, async (page) => {
      await page.keyboard.press("ArrowLeft");
      await page.waitForURL(/\/requests\?from=[\d-]+&to=[\d-]+$/);
      await page.locator("#menu-q").focus();
      await page.keyboard.press("ArrowRight");
      await page.locator("body").click({ position: { x: 1, y: 1 } });
      await page.keyboard.press("Shift+ArrowRight");
      assert.match(page.url(), /from=/);
      await page.keyboard.press("ArrowRight");
      await page.waitForURL("**/requests?period=today");
      assert.equal(await page.locator("[data-key=ArrowRight]").count(), 0);
    }));

  it("describes unknown parameters in words, and answers 404 for deleted records", () =>
    withPage(`${addressOf(full)}requests?period=2d&colour=red`, {}, async (page) => {
      assert.ok(await page.getByText("This page has no “colour”. It is left out.").isVisible());
      await page.goto(`${addressOf(full)}requests?model=none-such`);
      assert.ok(await page.getByText("No requests match these filters").isVisible());
    }));

  it("prints curl commands that run and return the figures of the page", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-curl-"));
    symlinkSync(full.home, join(home, ".meter"));
    try {
      await withPage(addressOf(full), {}, async (page) => {
        const runCurl = async (path: string) => {
          await page.goto(`${addressOf(full)}${path}`);
          const command = await page.locator("[data-copy^='curl']").first().getAttribute("data-copy");
          const { stdout } = await run("sh", ["-c", `${command}`], { env: { ...process.env, HOME: home } });
          return JSON.parse(stdout);
        };
        for (const path of PAGES) assert.equal((await runCurl(path)).code, undefined, path);
        assert.deepEqual((await runCurl("requests?project=it's")).items, []);
        const { metered, seen, buckets } = await runCurl("coverage?period=90d");
        const sum = (key: string) =>
          buckets.reduce((all: number, each: Record<string, number>) => all + (each[key] ?? 0), 0);
        assert.deepEqual([sum("metered"), sum("seen")], [metered, seen]);
        assert.ok(metered > 0 && seen > metered);
        const words = `${formatCount(metered)} of ${formatCount(seen)}`;
        assert.ok(await page.getByText(words).first().isVisible(), words);
        const sent = await runCurl("privacy");
        assert.deepEqual([sent.batches, sent.log, sent.fields], [0, null, []]);
        for (const [path, total] of [
          ["?period=7d&project=acme-web", "dt:text-is('Spent') + dd data"],
          ["explore?by=model&then=project", "#explore tfoot td:nth-last-child(2) data"],
          ["projects", null],
        ] as const) {
          const { totals } = await runCurl(path);
          const shown = total === null ? null : await page.locator(total).first().getAttribute("value");
          if (shown === null) assert.ok(totals.requests > 0, path);
          else assert.equal(BigInt(totals.spent_pico_usd), parseDecimalToPico(shown), path);
        }
      });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it("makes pictures of a chart with its title", () =>
    withPage(`${addressOf(full)}now`, { acceptDownloads: true }, async (page) => {
      const drawn = page.waitForEvent("download");
      await page.getByRole("button", { name: "SVG" }).click();
      const svg = decodeURIComponent((await drawn).url().split(",").slice(1).join(","));
      assert.ok(svg.includes(await page.title()), svg.slice(0, 400));
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "PNG" }).click();
      const file = readFileSync(await (await download).path());
      assert.deepEqual([...file.subarray(1, 4)], [...Buffer.from("PNG")]);
      assert.match((await download).suggestedFilename(), /today-Now-meter\.png$/);
      // A browser decodes it: its size, and that the place of the title is not empty.
      const [width, height, marks] = (await page.evaluate(`(async () => {
        const image = new Image();
        image.src = "data:image/png;base64,${file.toString("base64")}";
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(48, 30, 600, 70);
        let marks = 0;
        for (let at = 4; at < data.length; at += 4) if (data[at] !== data[at - 4]) marks += 1;
        return [image.width, image.height, marks];
      })()`)) as [number, number, number];
      assert.deepEqual([width, height], [2_400, 1_200]);
      assert.ok(marks > 200, `${marks}`);
    }));

  it("connects again after the daemon refused its events", async () => {
    const context = await browser.newContext();
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    try {
      const page = await context.newPage();
      let tries = 0;
      await page.route("**/v1/events", (route) =>
        ++tries === 1 ? route.fulfill({ status: 401, body: "" }) : route.continue(),
      );
      await page.goto(addressOf(full));
      await page.locator("#stale", { hasText: "these figures may be old" }).waitFor();
      assert.equal(await page.getByText("Metering", { exact: true }).isVisible(), false);
      await page.getByText("Live", { exact: true }).waitFor();
      assert.equal(tries, 2);
      await page.locator("#stale").waitFor({ state: "hidden" });
      assert.ok(await page.getByText("Metering", { exact: true }).isVisible());
    } finally {
      await context.close();
    }
  });

  it("shows texts of providers and programs as text, never as markup", () =>
    withPage(`${addressOf(full)}requests`, {}, async (page) => {
      assert.ok((await page.locator("#list").textContent())?.includes(evil));
      await page.locator("#list tbody a").first().click();
      await page.getByRole("heading", { name: /^Request of \d{4}-/ }).waitFor();
      assert.ok((await page.locator("main").textContent())?.includes(evil));
    }));

  it("refreshes for at most a tenth of the time, however many calls end", () =>
    withPage(`${addressOf(full)}now`, {}, async (page) => {
      await page.clock.install();
      await page.addInitScript(
        "window.EventSource = class extends EventTarget { constructor() { super(); window.source = this; } close() {} }",
      );
      let refreshes = 0;
      await page.route("**/now", async (route) => {
        if (route.request().resourceType() === "fetch") {
          refreshes += 1;
          await page.clock.fastForward(2_000);
        }
        await route.continue();
      });
      await page.goto(`${addressOf(full)}now`);
      const endCall = () => page.evaluate("void source.dispatchEvent(new Event('request'))");
      const nextRefresh = () => page.waitForResponse((answer) => answer.url().endsWith("/now"));
      /** Resolves once the page has handled what the daemon answered before. */
      const settle = () => page.evaluate("fetch('/health').then((answer) => answer.text())");
      await endCall();
      const first = nextRefresh();
      await page.clock.fastForward(500);
      await (await first).finished();
      await settle();
      await endCall();
      await page.clock.fastForward(19_000);
      await settle();
      assert.equal(refreshes, 1);
      const second = nextRefresh();
      await page.clock.fastForward(1_000);
      await second;
      assert.equal(refreshes, 2);
    }));

  it("can be used by keyboard alone", () =>
    withPage(addressOf(full), {}, async (page) => {
      const focused = async () => {
        await page.keyboard.press("Tab");
        return page.evaluate("document.activeElement.textContent.trim()");
      };
      assert.equal(await focused(), "Skip to content");
      await page.keyboard.press("Enter");
      assert.equal(await focused(), "‹");
      assert.equal(await focused(), "Today");
      await page.getByRole("link", { name: "90 days" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/?period=90d");
      // The focus stays where it was, on the new page.
      await page.locator("#period-90d[aria-current]:focus").waitFor();
      await page.getByText("Spent by model as a table").focus();
      await page.keyboard.press("Enter");
      assert.ok(await page.getByRole("region", { name: "Spent by model as a table" }).isVisible());
    }));

  it("does not load a view again for the skip link, and keeps the focus that moves while a view loads", () =>
    withPage(addressOf(full), {}, async (page) => {
      const loaded: string[] = [];
      await page.route("**/*", async (route) => {
        if (route.request().resourceType() === "fetch") {
          loaded.push(new URL(route.request().url()).search);
          await page.locator("#period-7d").focus();
        }
        await route.continue();
      });
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/#main");
      await page.getByRole("link", { name: "90 days" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/?period=90d");
      await page.locator("#period-7d:focus").waitFor();
      assert.deepEqual(loaded, ["?period=90d"]);
    }));

  it("has no barrier before the first call, says how to begin, and shows the first call when it ends", () =>
    withPage(`${addressOf(empty)}now`, {}, async (page) => {
      for (const path of EMPTY_PAGES) {
        assert.equal((await page.goto(`${addressOf(empty)}${path}`))?.status(), 200, path);
        await page.setViewportSize({ width: 1440, height: 900 });
        assert.deepEqual(await findBarriers(page, rulesIn("light")), [], path);
        await page.setViewportSize({ width: 320, height: 700 });
        assert.deepEqual(await findBarriers(page, NARROW), [], path);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320, path);
      }
      await page.goto(`${addressOf(empty)}now`);
      await page.getByText("Live", { exact: true }).waitFor();
      assert.ok(await page.getByText("Nothing metered yet").isVisible());
      const status = await callThroughGateway(empty.proxyPort);
      assert.equal(status, 200);
      await page.getByText("Nothing metered yet").waitFor({ state: "detached" });
      await page.getByRole("table", { name: "Latest requests" }).waitFor();
      assert.match((await page.locator("#figures").textContent()) ?? "", /1 call/);
    }));
});

/** One call of Claude through the gateway, as a program makes that has its base address set. */
function callThroughGateway(port: number): Promise<number> {
  const body = JSON.stringify({
    model: "claude-sonnet-4-5",
    max_tokens: 64,
    messages: [{ role: "user", content: "hello" }],
  });
  return new Promise((resolve, reject) => {
    request(
      {
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/anthropic/v1/messages",
        headers: {
          "content-type": "application/json",
          "x-api-key": "sk-test",
          "anthropic-version": "2023-06-01",
        },
      },
      (answer) => answer.resume().on("end", () => resolve(answer.statusCode ?? 0)),
    )
      .on("error", reject)
      .end(body);
  });
}
