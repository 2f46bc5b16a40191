import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";

/** The folder for screenshots, for a person to look at; none are taken without it. */
const SCREENSHOTS = process.env.METER_SCREENSHOTS;

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

/** Lists the accessibility faults of a page, as text, since some browsers run no scripts of the page. */
const LACKS = `(() => {
  const lacks = [];
  if (document.title.trim().length <= " · meter".length) lacks.push("a title");
  if (document.documentElement.lang !== "en") lacks.push("a language");
  for (const one of ["h1", "main"]) if (document.querySelectorAll(one).length !== 1) lacks.push("exactly one " + one);
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (field.labels.length === 0 && field.checkVisibility()) lacks.push("a label of " + field.name);
  for (const control of document.querySelectorAll("a:not(svg a), button:not([hidden]), summary"))
    if (control.textContent.trim() === "") lacks.push("a name of " + control.outerHTML);
  if (document.querySelector("[tabindex]:not([tabindex='-1'], pre[tabindex='0'], :is(.scroll, .heat.long)[role='region'][aria-label][tabindex='0'])")) lacks.push("the order of its own source");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) lacks.push("ids that are one element's");
  for (const reference of document.querySelectorAll("[aria-describedby]"))
    if (!ids.includes(reference.getAttribute("aria-describedby"))) lacks.push("a description");
  return lacks;
})()`;

/**
 * Checks that a page is accessible and no wider than the narrowest screen, and takes pictures of it, light and dark, wide
 * and narrow.
 */
export async function look(page: Page, name: string): Promise<void> {
  assert.deepEqual(await page.evaluate(LACKS), [], name);
  await page.setViewportSize({ width: 320, height: 640 });
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
