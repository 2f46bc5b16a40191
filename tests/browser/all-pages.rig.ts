import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { FORM_STYLE, KIT_SCRIPT, KIT_STYLE } from "../../pages/client-files.data.ts";
import { axeViews, findBarriers } from "./barriers.rig.ts";
import { BROWSER_PATIENCE_MS, launchChromium } from "./chromium.rig.ts";
import { HOSTILE, listPages, type PageHostRig } from "./hosts.rig.ts";
import {
  FIND_FAULTS,
  FIND_UNISOLATED,
  findLayoutFaults,
  MAX_LAYOUT_SHIFT,
  readLayoutShift,
  readPageClock,
} from "./layout-faults.rig.ts";

const WIDTHS = [1440, 768, 390, 320];

/** The maximum size of a page with its files, compressed, in bytes: of nearly all pages, and of any page. */
const USUAL_BYTES = 30 * 1024;
const MAX_BYTES = 60 * 1024;

/** The names of the pages that both hosts have. */
export const SHARED_PAGES = [
  ...["now", "overview", "explore", "sessions", "requests", "projects", "models", "limits"],
  ...["coverage", "statement", "privacy", "settings", "session", "request"],
];

const gzip = (text: string | Buffer) => gzipSync(text).length;

/** Whether the page is no wider than the window. Tables may scroll within their own frame. */
const FITS = "document.documentElement.scrollWidth <= innerWidth";

/** Resolves once a page is parsed and styled, even if its script is still loading. */
const IS_STYLED = `(async () => {
  if (document.readyState === "loading")
    await new Promise((resolve) => document.addEventListener("readystatechange", resolve, { once: true }));
  for (const link of document.querySelectorAll("link[rel=stylesheet]"))
    if (link.sheet === null) await new Promise((resolve) => link.addEventListener("load", resolve));
})()`;

/** Records where the focus is after each key: its element, whether it and its outline can be seen, and its name. */
const WATCH_FOCUS = `window.stops = [];
window.numbers = new Map();
addEventListener("keyup", () => {
  const each = document.activeElement;
  if (each === document.body) return void window.stops.push([-1, true, true, "body"]);
  const box = each.getBoundingClientRect();
  const style = getComputedStyle(each);
  const isSeen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
  const hasOutline = each.type === "date" || style.outlineStyle !== "none" || style.boxShadow !== "none";
  const name = each.getAttribute("aria-label") ?? each.labels?.[0]?.innerText ?? each.innerText;
  if (!numbers.has(each)) numbers.set(each, numbers.size);
  window.stops.push([numbers.get(each), isSeen, hasOutline, name.trim()]);
}, true)`;

const COUNT_CONTROLS = `[...document.querySelectorAll("a[href], button, select, input:not([type=hidden]), textarea, summary, [tabindex='0']")]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.tabIndex >= 0).length`;

/** What the tests check of a page, which is opened once for all of them. */
interface PageContent {
  readonly where: string;
  /** The document as it was sent. */
  readonly body: Buffer;
  /** The number of elements that only a hostile name could have made. */
  readonly foreign: number;
  readonly text: string;
  /** How much moved before the script ran, and when it did, at the narrowest width. */
  readonly shifts: readonly number[];
  readonly faults: {
    /** What the browser wrote to its console, and dialogs. */
    readonly console: readonly string[];
    readonly withoutScript: readonly string[];
    readonly withScript: readonly string[];
    readonly keyboard: readonly string[];
    readonly opened: readonly string[];
  };
}

/** Returns the faults of a page in each view. */
async function findFaults(page: Page, hasScript: boolean): Promise<string[]> {
  const faults: string[] = [];
  for (const { width, colorScheme, rules } of axeViews(hasScript)) {
    await page.emulateMedia({ colorScheme });
    if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 900 });
    const at = `${width}, ${colorScheme}`;
    const [fits, found] = (await page.evaluate(`[${FITS}, ${FIND_FAULTS}]`)) as [boolean, string[]];
    if (!fits) faults.push(`${at}: sideways scroll`);
    for (const fault of found) faults.push(`${at}: ${fault}`);
    if (rules === null) continue;
    for (const barrier of await findBarriers(page, rules)) faults.push(`${at}: ${barrier}`);
  }
  return faults;
}

/** Returns the faults of a page with everything opened, at 200 % text, in forced colours, and from right to left. */
async function findFaultsOpened(page: Page): Promise<string[]> {
  const faults: string[] = [];
  const fits = async (at: string) => {
    if ((await page.evaluate(FITS)) !== true) faults.push(`${at}: sideways scroll`);
  };
  await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await fits(`open, ${width}`);
  }
  // At 200 %, a window of 1280 pixels leaves 640 for the page.
  await page.setViewportSize({ width: 640, height: 450 });
  await fits("200 %");
  for (const fault of await findLayoutFaults(page)) faults.push(`200 %: ${fault}`);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate("document.documentElement.dir = 'rtl'");
  await fits("rtl");
  faults.push(...((await page.evaluate(FIND_UNISOLATED)) as string[]));
  await page.evaluate("document.documentElement.dir = 'ltr'");
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
  for (const barrier of await findBarriers(page)) faults.push(`forced colours: ${barrier}`);
  const moving = "document.getAnimations().filter((each) => each.playState === 'running').length";
  if ((await page.evaluate(moving)) !== 0) faults.push("reduced motion: something moves");
  await page.emulateMedia({ forcedColors: null, reducedMotion: null });
  return faults;
}

/** Presses Tab several times. All presses are sent at once, because each answer of the browser takes longer than the press. */
async function pressTab(page: Page, times: number): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  const tab = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 };
  const events = Array.from({ length: times }, () => ["rawKeyDown", "keyUp"] as const).flat();
  await Promise.all(events.map((type) => debug.send("Input.dispatchKeyEvent", { type, ...tab })));
  await debug.detach();
}

/** Presses Tab until each control had the focus, and returns the faults on the way. */
async function findKeyboardFaults(page: Page): Promise<string[]> {
  const faults: string[] = [];
  const controls = (await page.evaluate(COUNT_CONTROLS)) as number;
  await page.evaluate(WATCH_FOCUS);
  const reached = new Set<number>();
  let [last, stays, presses] = [-1, 0, 0];
  // Between the last control and the first one, the focus is on the browser itself. A date field has a few stops.
  while (reached.size < controls && presses < controls + 20) {
    // So many are needed at least.
    const next = Math.min(controls - reached.size, controls + 20 - presses);
    await pressTab(page, next);
    presses += next;
    const stops = (await page.evaluate("window.stops.splice(0)")) as [number, boolean, boolean, string][];
    if (stops.length !== next) faults.push(`${next} presses of Tab made ${stops.length} stops`);
    for (const [index, isSeen, hasOutline, name] of stops) {
      if (!isSeen || !hasOutline) faults.push(`${name} has no visible focus`);
      if (name === "") faults.push("a control has no name");
      if (index >= 0) reached.add(index);
      stays = index === last ? stays + 1 : 0;
      last = index;
      if (stays >= 5) return [...faults, `the focus stays on ${name}`];
    }
  }
  if (reached.size !== controls) faults.push("some controls are not reached");
  return faults;
}

/** Declares the tests of every page of a host. `names` are those of the design. */
export function testAllPages(
  startHost: (withHostile: boolean) => Promise<PageHostRig>,
  names: readonly string[],
): void {
  let browser: Browser;
  let host: PageHostRig;
  let pages: Awaited<ReturnType<typeof listPages>> = [];
  before(async () => {
    browser = await launchChromium();
    host = await startHost(true);
    pages = await listPages(browser, host);
  });
  after(async () => {
    await browser?.close();
    await host?.close();
  });

  const readPages = async (): Promise<PageContent[]> => {
    const context = await host.open(browser);
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    const page = await context.newPage();
    // The script of a page waits until the page was checked without it.
    let runScript = () => {};
    let scriptMayRun = Promise.resolve();
    await page.route("**/assets/kit.*.js", async (route) => {
      await scriptMayRun;
      await route.continue();
    });
    let complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    const found: PageContent[] = [];
    for (const [name, path] of pages) {
      scriptMayRun = new Promise((resolve) => {
        runScript = resolve;
      });
      const answer = await page.goto(host.origin + path, { waitUntil: "commit" });
      assert.equal(answer?.status(), 200, path);
      await page.evaluate(IS_STYLED);
      assert.equal(await page.locator("[data-script]:not([hidden])").count(), 0, `${path}: its script runs`);
      const shifts = [await readLayoutShift(page)];
      const withoutScript = await findFaults(page, false);
      const checkedAt = await readPageClock(page);
      runScript();
      await page.waitForLoadState();
      shifts.push(await readLayoutShift(page, checkedAt));
      const foreign = await page.locator("main img, main script").count();
      const text = (await page.locator("main").textContent()) ?? "";
      const withScript = await findFaults(page, true);
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.emulateMedia({ colorScheme: "light" });
      const keyboard = await findKeyboardFaults(page);
      await page.evaluate("document.activeElement.blur(); scrollTo(0, 0)");
      const opened = await findFaultsOpened(page);
      const faults = { console: complaints, withoutScript, withScript, keyboard, opened };
      found.push({ where: `${host.name} ${name}`, body: await answer.body(), foreign, text, shifts, faults });
      complaints = [];
    }
    await context.close();
    return found;
  };

  let contents: Promise<PageContent[]> | null = null;
  const read = (): Promise<PageContent[]> => {
    contents ??= readPages();
    return contents;
  };

  /** Asserts that no page has faults of a kind, and that the console stayed empty. */
  async function assertNone(kind: keyof PageContent["faults"]): Promise<void> {
    for (const { where, faults } of await read()) {
      assert.deepEqual(faults[kind], [], where);
      assert.deepEqual(faults.console, [], where);
    }
  }

  it("include those of the design", () => {
    const listed = pages.map(([name]) => name);
    for (const name of names) assert.ok(listed.includes(name), name);
  });

  for (const kind of ["withScript", "withoutScript"] as const)
    it(`pass axe, never scroll sideways, and cover or cut off no text, at any width, light or dark, ${kind === "withoutScript" ? "without" : "with"} scripts`, () =>
      assertNone(kind));

  it("fit with everything opened, at 200 % text, in forced colours, and from right to left", () =>
    assertNone("opened"));

  it("never move by themselves, neither when they are first shown nor when their script runs", async () => {
    for (const { where, shifts } of await read())
      for (const shift of shifts) assert.ok(shift < MAX_LAYOUT_SHIFT, `${where}: ${shift}`);
  });

  it("show hostile names as text", async () => {
    for (const { where, foreign, text } of await read()) {
      assert.equal(foreign, 0, where);
      if (["local requests", "cloud requests", "local projects", "cloud explore"].includes(where))
        assert.ok(text.includes(HOSTILE), where);
    }
  });

  it("keep their budgets of bytes", async () => {
    assert.ok(gzip(KIT_SCRIPT.text) <= 5 * 1024, `kit.js ${gzip(KIT_SCRIPT.text)}`);
    assert.ok(gzip(KIT_STYLE.text) <= 6 * 1024, `kit.css ${gzip(KIT_STYLE.text)}`);
    const files = gzip(KIT_SCRIPT.text) + gzip(KIT_STYLE.text) + gzip(FORM_STYLE.text);
    const large: string[] = [];
    for (const { where, body } of await read()) {
      const bytes = gzip(body) + files;
      assert.ok(bytes <= MAX_BYTES, `${where}: ${bytes}`);
      if (bytes > USUAL_BYTES) large.push(`${where}: ${bytes}`);
    }
    assert.deepEqual(large, []);
  });

  it("have controls that Tab reaches, all of them, each with a name and a visible focus, and no trap", () =>
    assertNone("keyboard"));
}
