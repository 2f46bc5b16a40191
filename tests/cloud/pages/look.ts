import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";

/** Where screenshots go, for a person to look at; none are taken without it. */
const SCREENSHOTS = process.env.METER_SCREENSHOTS;

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

/** No page is wider than the narrowest screen that people use; and takes a picture of it, light and dark, wide and narrow. */
export async function look(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 320, height: 640 });
  // In text, since some of these browsers run no script of a page.
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320, `${name} is too wide`);
  await page.setViewportSize(WIDE);
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const viewport of [NARROW, WIDE]) {
      await page.setViewportSize(viewport);
      const path = join(SCREENSHOTS, `${name}-${viewport.width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
}
