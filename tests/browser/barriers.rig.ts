import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import type { Page } from "playwright-core";
import { REMEMBER_CONTRASTS } from "./contrast-memo.rig.ts";
import { REMOVE_REPEATED } from "./repeated-parts.rig.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The layout faults that a narrow page can have. */
export const NARROW = { type: "rule", values: ["target-size", "scrollable-region-focusable"] };

/** The rules about colours: the only ones whose result differs between light and dark. */
const COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** A view of a page, and the rules that can find something there that they did not find in a view before it. */
export interface AxeView {
  readonly width: number;
  readonly colorScheme: "light" | "dark";
  /** Null for no rules. */
  readonly rules: unknown;
}

const VIEW_WIDTHS = [1440, 768, 390, 320];

/** Whether all rules run on every view, which takes minutes: `METER_PROPERTY_RUNS` is set. */
const RUNS_ALL_RULES = process.env.METER_PROPERTY_RUNS !== undefined;

/** Returns the rules for a view in dark of a page that passed all rules in light; all rules in light. */
export const rulesIn = (colorScheme: "light" | "dark"): unknown =>
  colorScheme === "dark" && !RUNS_ALL_RULES ? COLOURS : WCAG;

/**
 * Returns the views of a page. All rules run on the widest and the narrowest in light, those about layout at the other widths,
 * and those about colours on the widest in dark. Other dark views are left out: `tests/pages/dark-styles.test.ts` checks that dark changes
 * colours alone. `hasScript` is false for a page that is checked with its script too: without it, only the buttons that need it are hidden.
 */
export function axeViews(hasScript: boolean): AxeView[] {
  const isOuter = (width: number) => width === VIEW_WIDTHS[0] || width === VIEW_WIDTHS.at(-1);
  const rulesOf = (width: number, colorScheme: "light" | "dark"): unknown => {
    if (RUNS_ALL_RULES) return hasScript || isOuter(width) ? WCAG : null;
    if (colorScheme === "dark") return COLOURS;
    if (!hasScript) return width === VIEW_WIDTHS[0] ? WCAG : NARROW;
    return isOuter(width) ? WCAG : NARROW;
  };
  const views = VIEW_WIDTHS.flatMap((width) =>
    (["light", "dark"] as const).map((colorScheme) => ({
      width,
      colorScheme,
      rules: rulesOf(width, colorScheme),
    })),
  );
  const changesColours = (width: number) => hasScript && width === VIEW_WIDTHS[0];
  return views.filter(
    ({ width, colorScheme }) => RUNS_ALL_RULES || colorScheme === "light" || changesColours(width),
  );
}

/** The cases of contrast that passed in this process, on any page. */
const passedContrasts = new Set<string>();

/** Loads axe-core into a page. The page's content security policy refuses foreign scripts, so it comes through the debugger. */
async function loadAxe(page: Page): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  await debug.send("Runtime.evaluate", { expression: axe });
  await debug.detach();
  if (RUNS_ALL_RULES) return;
  await page.evaluate(REMOVE_REPEATED);
  await page.evaluate(REMEMBER_CONTRASTS);
  await page.evaluate(
    `for (const each of ${JSON.stringify([...passedContrasts])}) contrasts.passed.add(each)`,
  );
}

/** Returns what axe-core finds, by default against WCAG 2.2, A and AA, and good practice. */
export async function findBarriers(page: Page, rules: unknown = WCAG): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await loadAxe(page);
  const { barriers, passed } = (await page.evaluate(
    // The selectors of all elements, which nobody reads, would take a quarter of the time.
    `(async () => {
      const known = window.contrasts?.passed ?? new Set();
      const putBack = window.removeRepeated?.() ?? (() => {});
      window.contrasts?.start();
      const before = known.size;
      const { violations } = await axe
        .run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"], selectors: false })
        .finally(putBack);
      return {
        barriers: violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")),
        passed: [...known].slice(before),
      };
    })()`,
  )) as { barriers: string[]; passed: string[] };
  for (const each of passed) passedContrasts.add(each);
  return barriers;
}
