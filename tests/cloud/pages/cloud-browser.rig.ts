import assert from "node:assert/strict";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { serve } from "../../../adapters/http/serve.ts";
import { findBarriers, NARROW, rulesIn } from "../../browser/barriers.rig.ts";
import { BROWSER_PATIENCE_MS, launchChromium } from "../../browser/chromium.rig.ts";
import { type CloudRig, createRig, type TestPerson } from "../kit/cloud-rig.ts";
import { pgliteEngine } from "../kit/engines.ts";
import { look } from "./look-at-page.rig.ts";

const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

/** A page of a person who is signed in. */
export interface SignedInPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser wrote to its console. */
  readonly messages: string[];
}

/** A cloud that a browser can reach. */
export interface CloudBrowser {
  readonly rig: CloudRig;
  readonly app: ReturnType<CloudRig["app"]>;
  readonly baseUrl: string;
  readonly browser: Browser;
  open(person: TestPerson, options?: BrowserContextOptions): Promise<SignedInPage>;
  close(): Promise<void>;
}

/** Starts a cloud on a database of its own, and a browser. `chooseOptions` returns further options of `createRig()`. */
export async function startCloudBrowser(
  chooseOptions: (baseUrl: string) => Parameters<typeof createRig>[1] = () => ({}),
): Promise<CloudBrowser> {
  const browser = await launchChromium();
  let app: ReturnType<CloudRig["app"]> | null = null;
  const served = await serve(
    (request, peer) => app?.fetch(request, peer) ?? new Response(null, { status: 503 }),
    { host: "127.0.0.1", port: 0 },
  );
  const baseUrl = `http://127.0.0.1:${served.port}`;
  const config = { baseUrl, rateLimits: { perKey: 1e6, perUser: 1e6 } };
  const rig = await createRig(pgliteEngine(), { config, ...chooseOptions(baseUrl) });
  app = rig.app(config);
  return {
    rig,
    app,
    baseUrl,
    browser,
    async open(person, contextOptions = {}) {
      const context = await browser.newContext({ viewport: WIDE, ...contextOptions });
      await context.addCookies([{ name: "session", value: person.token, url: baseUrl }]);
      const page = await context.newPage();
      page.setDefaultTimeout(BROWSER_PATIENCE_MS);
      const messages: string[] = [];
      page.on("console", (message) => messages.push(message.text()));
      return { context, page, messages };
    },
    async close() {
      await browser.close();
      await served.close(0);
      await rig.close();
    },
  };
}

/** Checks that a page has no barrier, in light and dark, on a wide screen and on a phone. Opens each `details` first. */
export async function checkInEachView(page: Page, name: string): Promise<void> {
  for (const details of await page.locator("main details").all())
    await details.evaluate((element) => element.setAttribute("open", ""));
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(WIDE);
    assert.deepEqual(await findBarriers(page, rulesIn(colorScheme)), [], `${name} ${colorScheme}`);
  }
  await page.setViewportSize(PHONE);
  assert.deepEqual(await findBarriers(page, NARROW), [], name);
  await look(page, name);
}
