import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The layout faults that a narrow page can have. */
export const NARROW = { type: "rule", values: ["target-size", "scrollable-region-focusable"] };

/** Returns what axe-core finds, by default against WCAG 2.2, A and AA, and good practice. */
export async function findBarriers(page: Page, rules: unknown = WCAG): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") {
    // The pages' content security policy refuses foreign scripts, so this one comes through the debugger.
    const debug = await page.context().newCDPSession(page);
    await debug.send("Runtime.evaluate", { expression: axe });
    await debug.detach();
  }
  return page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(rules)} }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`,
  );
}
