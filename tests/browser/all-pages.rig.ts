import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { FORM_STYLE, KIT_SCRIPT, KIT_STYLE } from "../../pages/client-files.data.ts";
import { axeViews, findBarriers } from "./barriers.rig.ts";
import { BROWSER_PATIENCE_MS, launchChromium } from "./chromium.rig.ts";
import { HOSTILE, listPages, type PageHostRig } from "./hosts.rig.ts";
import { FIND_FAULTS, findLayoutFaults } from "./layout-faults.rig.ts";

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

interface PageContent {
  readonly where: string;
  /** The document as it was sent. */
  readonly body: Buffer;
  /** The number of elements that only a hostile name could have made. */
  readonly foreign: number;
  readonly text: string;
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

  /** Opens every page. The console must stay empty. */
  async function visitAll(
    options: BrowserContextOptions & { readonly withoutScript?: boolean },
    visit: (page: Page, where: string, body: Buffer) => Promise<void>,
  ): Promise<void> {
    const context = await host.open(browser, options);
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    const page = await context.newPage();
    // As if scripts were off, and yet the checks can run.
    if (options.withoutScript === true)
      await page.route("**/assets/kit.*.js", (route) =>
        route.fulfill({ body: "", contentType: "text/javascript" }),
      );
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    for (const [name, path] of pages) {
      const answer = await page.goto(host.origin + path);
      assert.equal(answer?.status(), 200, path);
      await visit(page, `${host.name} ${name}`, (await answer?.body()) ?? Buffer.alloc(0));
      assert.deepEqual(complaints, [], `${host.name} ${name}`);
    }
    await context.close();
  }

  it("are at least those of the design", () => {
    const listed = pages.map(([name]) => name);
    for (const name of names) assert.ok(listed.includes(name), name);
  });

  for (const withoutScript of [false, true])
    it(`pass axe, never scroll sideways, and cover or cut off no text, at any width, light or dark, ${withoutScript ? "without" : "with"} scripts`, () =>
      visitAll({ withoutScript }, async (page, where) => {
        const faults: string[] = [];
        for (const { width, colorScheme, rules } of axeViews(!withoutScript)) {
          await page.emulateMedia({ colorScheme });
          if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 900 });
          const at = `${where}, ${width}, ${colorScheme}`;
          const [fits, found] = (await page.evaluate(`[${FITS}, ${FIND_FAULTS}]`)) as [boolean, string[]];
          if (!fits) faults.push(`${at}: sideways scroll`);
          for (const fault of found) faults.push(`${at}: ${fault}`);
          if (rules === null) continue;
          for (const barrier of await findBarriers(page, rules)) faults.push(`${at}: ${barrier}`);
        }
        assert.deepEqual(faults, []);
      }));

  it("fit with everything opened, at 200 % text, in forced colours, and from right to left", () =>
    visitAll({}, async (page, where) => {
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        assert.equal(await page.evaluate(FITS), true, `${where}, open, ${width}`);
      }
      // At 200 %, a window of 1280 pixels leaves 640 for the page.
      await page.setViewportSize({ width: 640, height: 450 });
      assert.equal(await page.evaluate(FITS), true, `${where}, 200 %`);
      assert.deepEqual(await findLayoutFaults(page), [], `${where}, 200 %`);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.evaluate("document.documentElement.dir = 'rtl'");
      assert.equal(await page.evaluate(FITS), true, `${where}, rtl`);
      await page.evaluate("document.documentElement.dir = 'ltr'");
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
      assert.deepEqual(await findBarriers(page), [], `${where}, forced colours`);
      const moving = "document.getAnimations().filter((each) => each.playState === 'running').length";
      assert.equal(await page.evaluate(moving), 0, `${where}, reduced motion`);
    }));

  /** What two tests check. Every page is opened once for both. */
  let contents: Promise<PageContent[]> | null = null;
  const readContents = async (): Promise<PageContent[]> => {
    const found: PageContent[] = [];
    await visitAll({}, async (page, where, body) => {
      const foreign = await page.locator("main img, main script").count();
      found.push({ where, body, foreign, text: (await page.locator("main").textContent()) ?? "" });
    });
    return found;
  };

  it("show hostile names as text", async () => {
    contents ??= readContents();
    for (const { where, foreign, text } of await contents) {
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
    contents ??= readContents();
    for (const { where, body } of await contents) {
      const bytes = gzip(body) + files;
      assert.ok(bytes <= MAX_BYTES, `${where}: ${bytes}`);
      if (bytes > USUAL_BYTES) large.push(`${where}: ${bytes}`);
    }
    assert.deepEqual(large, []);
  });

  it("have controls that Tab reaches, all of them, each with a name and a visible focus, and no trap", () =>
    visitAll({ viewport: { width: 1440, height: 900 } }, async (page, where) => {
      const controls = (await page.evaluate(
        `[...document.querySelectorAll("a[href], button, select, input:not([type=hidden]), textarea, summary, [tabindex='0']")]
          .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.tabIndex >= 0).length`,
      )) as number;
      const reached = new Set<number>();
      let [last, stays] = [-1, 0];
      // Between the last control and the first one, the focus is on the browser itself. A date field has a few stops.
      for (let presses = 0; reached.size < controls && presses < controls + 20; presses += 1) {
        await page.keyboard.press("Tab");
        const [index, isSeen, hasOutline, name] = (await page.evaluate(`(() => {
          const each = document.activeElement;
          if (each === document.body) return [-1, true, true, "body"];
          const box = each.getBoundingClientRect();
          const style = getComputedStyle(each);
          const isSeen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
          const hasOutline = each.type === "date" || style.outlineStyle !== "none" || style.boxShadow !== "none";
          const name = each.getAttribute("aria-label") ?? each.labels?.[0]?.innerText ?? each.innerText;
          return [[...document.querySelectorAll("*")].indexOf(each), isSeen, hasOutline, name.trim()];
        })()`)) as [number, boolean, boolean, string];
        assert.ok(isSeen && hasOutline, `${where}: ${name} has no visible focus`);
        assert.notEqual(name, "", `${where}: a control has no name`);
        if (index >= 0) reached.add(index);
        stays = index === last ? stays + 1 : 0;
        last = index;
        assert.ok(stays < 5, `${where}: the focus stays on ${name}`);
      }
      assert.equal(reached.size, controls, `${where}: some controls are not reached`);
    }));
}
