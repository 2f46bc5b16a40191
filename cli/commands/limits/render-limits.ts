import { UNKNOWN } from "../../../core/values/text/format-count.ts";
import type { LimitView } from "../../../daemon/limits/limit-views.ts";
import type { DividedWindow, ShareGroup } from "../../../daemon/limits/read-shares.ts";
import { METER_A_PROGRAM } from "../../program/failures.ts";
import { formatSpan } from "../../render/format-span.ts";
import {
  describeAccount,
  describeFull,
  describeReset,
  describeUse,
  describeWindow,
  renderBar,
} from "../../render/limit-text.ts";
import { type Column, renderTable, tableFits } from "../../render/table.ts";

const BAR_CELLS = 10;

/** The columns. If the terminal is too narrow, the one with the highest number is left out first. */
const COLUMNS: readonly (Column & {
  readonly leaveOut?: number;
  cell(limit: LimitView, now: number): string;
})[] = [
  { title: "account", shrink: true, cell: describeAccount },
  { title: "window", shrink: true, cell: describeWindow },
  { title: "", leaveOut: 1, cell: barCell },
  { title: "used", align: "right", cell: describeUse },
  { title: "resets", cell: describeReset },
  { title: "elapsed", align: "right", leaveOut: 2, cell: elapsedCell },
  { title: "full", cell: describeFull },
  { title: "seen", leaveOut: 3, cell: seenCell },
];

/** The numbers of `leaveOut` that are left out in turn, until the table fits. */
const NARROWER = [4, 3, 2, 1];

function barCell({ is_over, level, used_percent }: LimitView): string {
  return is_over ? "" : renderBar(level === "exceeded" ? 100 : used_percent, BAR_CELLS);
}

function elapsedCell({ elapsed_percent }: LimitView): string {
  return elapsed_percent === null ? UNKNOWN : `${Math.floor(elapsed_percent)} %`;
}

function seenCell({ seen_at }: LimitView, now: number): string {
  const ms = now - Date.parse(seen_at);
  return ms < 60_000 ? "just now" : `${formatSpan(ms)} ago`;
}

const NO_LIMITS = [
  "No limits are known yet. Most providers state them with their responses.",
  METER_A_PROGRAM,
].join("\n");

/** Renders the limits as a table. */
export function renderLimits(limits: readonly LimitView[], now: number, width: number): string {
  if (limits.length === 0) return NO_LIMITS;
  const tables = NARROWER.map((from) => {
    const columns = COLUMNS.filter(({ leaveOut = 0 }) => leaveOut < from);
    return { columns, rows: limits.map((limit) => columns.map(({ cell }) => cell(limit, now))) };
  });
  const { columns, rows } =
    tables.find((each) => tableFits(each.columns, each.rows, width)) ?? tables.at(-1)!;
  return renderTable(columns, rows, width);
}

/** A window with its shares. */
export interface LimitShares {
  readonly limit: LimitView;
  readonly divided: DividedWindow;
}

const percent = (ppm: number): string => `${(ppm / 10_000).toFixed(1)} %`;

/** Renders the shares of windows, each as a table. */
export function renderShares(all: readonly LimitShares[], by: ShareGroup, width: number): string {
  const used = all.filter(({ divided: { shares, elsewherePpm } }) => shares.length > 0 || elsewherePpm > 0);
  if (used.length === 0)
    return "No shares can be estimated yet. That needs two readings of a window with calls in between.";
  const sections = used.map(({ limit, divided }) => {
    const { shares, elsewherePpm, earlierPpm, isPartial } = divided;
    const rows = shares.map(({ key, usedPpm }) => [key === "" ? UNKNOWN : key, percent(usedPpm)]);
    if (elsewherePpm > 0) rows.push(["elsewhere", percent(elsewherePpm)]);
    if (earlierPpm > 0) rows.push(["before the first reading", percent(earlierPpm)]);
    const columns = [
      { title: by, shrink: true },
      { title: "of the window", align: "right" as const },
    ];
    return [
      `${describeAccount(limit)} ${describeWindow(limit)}`,
      renderTable(columns, rows, width),
      ...(isPartial ? ["The oldest calls of this window are missing."] : []),
    ].join("\n");
  });
  return [
    ...sections,
    "Shares are estimates: providers round the use of a window, and include use on other machines.",
  ].join("\n\n");
}
