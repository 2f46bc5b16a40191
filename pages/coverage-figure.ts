import { html } from "hono/html";
import { formatCount, UNKNOWN } from "../core/values/text/format-count.ts";
import { formatQuantity } from "../core/values/text/format-quantity.ts";
import type { Millis } from "../core/values/time.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import type { BarGap } from "./chart/bars.ts";
import { formatSpan } from "./figures.ts";
import { formatPermille } from "./formats.ts";
import type { Html } from "./html.ts";

/** How many of the seen calls were metered, and for how many machines this is unknown. */
export type CoverageFigure = Pick<
  NonNullable<UsageAnswer["coverage"]>,
  "metered" | "seen" | "permille" | "unknown_machines"
> & {
  /** Whether it could not be read. */
  readonly isUnread?: true;
};

/** Whether every call of every machine was metered. */
const isWhole = ({ permille, unknown_machines: unknown }: CoverageFigure): boolean =>
  permille === 1000 && (unknown ?? 0) === 0;

/** Describes the machines whose coverage is unknown; empty if there are none. */
const describeUnknown = ({ unknown_machines: unknown }: CoverageFigure): string =>
  unknown === null || unknown === 0 ? "" : `unknown for ${formatQuantity(unknown, "machine")}`;

/** Renders the share of metered calls, as a link to the page of coverage. It is green only if every call was metered. */
export const renderCoverageValue = (coverage: CoverageFigure, href: string): Html =>
  html`<a href="${href}" class="${isWhole(coverage) ? "good" : ""}">${coverage.permille === null ? UNKNOWN : formatPermille(coverage.permille)}</a>`;

/** Describes the calls behind the share. */
export function describeCoverageFigure(coverage: CoverageFigure): string {
  const { metered, seen, permille } = coverage;
  const unknown = describeUnknown(coverage);
  if (coverage.isUnread === true) return "could not be read";
  if (permille === null) return unknown || "no calls to providers";
  return [`${formatCount(metered)} of ${formatCount(seen)} calls`, unknown]
    .filter((each) => each !== "")
    .join("; ");
}

/** Renders the coverage behind the summary of a page. Empty without calls, and if it is not known. */
export function renderCoverageLine(coverage: CoverageFigure | null, href: string): Html | "" {
  if (coverage === null) return "";
  if (coverage.isUnread === true) return html` <span class="bad">Coverage could not be read.</span>`;
  const unknown = describeUnknown(coverage);
  if (coverage.permille === null)
    return unknown === "" ? "" : html` Coverage: <a href="${href}">${unknown}</a>.`;
  return html` Coverage: ${renderCoverageValue(coverage, href)}${unknown === "" ? "" : `, ${unknown}`}.`;
}

/** Describes for how long of a bar's time no meter ran. A bar without calls is hatched if this is most of its time. */
export function describeGap(
  { from, to, stoppedMs }: { readonly from: Millis; readonly to: Millis; readonly stoppedMs: number | null },
  calls: number,
): BarGap | undefined {
  if (stoppedMs === null || stoppedMs === 0) return undefined;
  const length = to - from;
  return {
    words: stoppedMs >= length ? "not metering" : `not metering for ${formatSpan(stoppedMs)}`,
    isHatched: calls === 0 && 2 * stoppedMs >= length,
  };
}
