import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";

/** Where screenshots go, for a person to look at; none are taken without it. */
const SCREENSHOTS = process.env.METER_SCREENSHOTS;

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

/** What a page lacks for people who hear it or have no mouse, in words; in text, since some browsers run no script of a page. */
const LACKS = `(() => {
  const lacks = [];
  if (document.title.trim().length <= " · meter".length) lacks.push("a title");
  if (document.documentElement.lang !== "en") lacks.push("a language");
  for (const one of ["h1", "main"]) if (document.querySelectorAll(one).length !== 1) lacks.push("exactly one " + one);
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (field.labels.length === 0 && field.checkVisibility()) lacks.push("a label of " + field.name);
  for (const control of document.querySelectorAll("a:not(svg a), button:not([hidden]), summary"))
    if (control.textContent.trim() === "") lacks.push("a name of " + control.outerHTML);
  if (document.querySelector("[tabindex]:not([tabindex='-1'], pre[tabindex='0'], .scroll[role='region'][aria-label][tabindex='0'])")) lacks.push("the order of its own source");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) lacks.push("ids that are one element's");
  for (const reference of document.querySelectorAll("[aria-describedby]"))
    if (!ids.includes(reference.getAttribute("aria-describedby"))) lacks.push("a description");
  return lacks;
})()`;

/**
 * A page has what everybody needs and is no wider than the narrowest screen that people use; and takes a picture of it,
 * light and dark, wide and narrow.
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
