import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
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
import {
  BROWSER_PATIENCE_MS,
  BROWSER_SUITE_TIMEOUT_MS,
  launchChromium,
  withoutChromium,
} from "./chromium.rig.ts";
import { createFilledHome, sampleMonths } from "./sample-home.rig.ts";

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
    const records = [...sampleMonths(now).slice(-200), evilRecord];
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

  /** Opens a page, and holds that the browser found nothing wrong with it: no error, refused part or dialog. */
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

  it("shows what was metered, in light and dark, with names for who can't see it", async () => {
    const grounds: unknown[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await withPage(addressOf(full), { colorScheme }, async (page) => {
        await page.getByText("Live", { exact: true }).waitFor();
        for (const name of [
          "Cost per day",
          "Projects",
          "Models",
          "Latest requests",
          "Metering coverage",
          "Cloud",
          "Gaps in the metering",
        ])
          assert.equal(await page.getByRole("heading", { name, exact: true }).count(), 1, name);
        for (const name of ["Projects", "Models", "Latest requests", "6 requests to unknown paths"])
          assert.equal(await page.getByRole("table", { name, exact: true }).count(), 1, name);
        assert.equal(await page.getByRole("navigation", { name: "Period" }).count(), 1);
        assert.equal(await page.locator(".bar").count(), 30);
        assert.equal(await page.locator("#recent tbody tr").count(), 25);
        await page.getByText("Cost per day as a table").click();
        assert.ok(await page.getByRole("region", { name: "Cost per day as a table" }).isVisible());
        grounds.push(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
      });
    }
    assert.notEqual(grounds[0], grounds[1]);
  });

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
      await page.getByText("Live", { exact: true }).waitFor();
      assert.equal(tries, 2);
    } finally {
      await context.close();
    }
  });

  it("fits a phone", () =>
    withPage(addressOf(full), { viewport: { width: 360, height: 740 } }, async (page) => {
      for (const address of [addressOf(full), `${addressOf(full)}requests/${evilRecord.requestId}`]) {
        await page.goto(address);
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
          address,
        );
      }
    }));

  it("takes what providers and programs say for text", () =>
    withPage(addressOf(full), {}, async (page) => {
      assert.ok((await page.locator("#recent").textContent())?.includes(evil));
      await page.locator("#recent tbody a").first().click();
      await page.getByRole("heading", { name: "One request" }).waitFor();
      assert.ok((await page.locator("main").textContent())?.includes(evil));
    }));

  it("goes by keyboard alone", () =>
    withPage(addressOf(full), {}, async (page) => {
      const focused = async () => {
        await page.keyboard.press("Tab");
        return page.evaluate("document.activeElement.textContent.trim()");
      };
      assert.equal(await focused(), "Skip to content");
      const reached: unknown[] = [];
      for (let n = 0; n < 7; n++) reached.push(await focused());
      // The lines to paste for an unpriced model scroll, so they take the focus.
      assert.match(String(reached[1]), /^\[\[pricing\.operator\]\]/);
      assert.deepEqual(reached.toSpliced(1, 1), [
        "meter",
        "7 days",
        "30 days",
        "90 days",
        "1 year",
        "Cost per day as a table",
      ]);
      await page.keyboard.press("Enter");
      assert.ok(await page.getByRole("region", { name: "Cost per day as a table" }).isVisible());
      await page.getByRole("link", { name: "90 days" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/?days=90");
      assert.equal(await page.locator("nav a[aria-current]").textContent(), "90 days");
    }));

  it("shows the same without JavaScript", () =>
    withPage(addressOf(full), { javaScriptEnabled: false }, async (page) => {
      assert.equal(await page.locator("#recent tbody tr").count(), 25);
      assert.equal(await page.locator("#live").textContent(), "");
    }));

  it("says how to begin, and shows the first call as it ends", () =>
    withPage(addressOf(empty), {}, async (page) => {
      await page.getByText("Live", { exact: true }).waitFor();
      assert.ok(await page.getByText("Nothing metered yet").isVisible());
      const status = await callThroughGateway(empty.proxyPort);
      assert.equal(status, 200);
      await page.locator("#recent tbody tr.new").waitFor();
      await page.getByText("Nothing metered yet").waitFor({ state: "detached" });
      assert.match((await page.locator("#tiles").textContent()) ?? "", /Requests1none failed/);
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
