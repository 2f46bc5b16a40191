import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import type { NowCall, NowResponse, NowSession } from "../../../daemon/api/now-routes.ts";
import type { LimitView } from "../../../daemon/limits/limit-views.ts";
import { formatParts } from "../../render/format-parts.ts";
import { formatSpan } from "../../render/format-span.ts";
import {
  describeAccount,
  describeFull,
  describeReset,
  describeUse,
  describeWindow,
  formatClock,
  renderBar,
} from "../../render/limit-text.ts";
import { type Column, renderTable } from "../../render/table.ts";
import { wrapParts } from "../../render/wrap.ts";

/** The state of the view besides the data. */
export interface TopView {
  readonly columns: number;
  readonly rows: number;
  /** When the data was read. */
  readonly at: number;
  readonly firstSession: number;
  /** Null without keys. */
  readonly isPaused: boolean | null;
}

/** The heights of a chart's cells. */
const HEIGHTS = " ▁▂▃▄▅▆▇█";

const BAR_CELLS = 10;

/** How many calls and limits are shown at most, so that the sessions stay visible. */
const MAX_CALLS = 8;
const MAX_LIMITS = 8;

/** The lines of a table's head. */
const TABLE_HEAD = 2;

/** Renders the whole view. `now` is null if no daemon answers. */
export function renderTop(now: NowResponse | null, view: TopView): string {
  const head = `meter  ${formatClock(view.at, view.at)}${view.isPaused === true ? "  paused" : ""}`;
  if (now === null) return `${head}\n\nThe daemon is not running. Start it: meter start${keysLine(view)}`;
  const sections = [
    renderSums(now, head, view),
    renderMinutes(now, view),
    renderCalls(now, view),
    renderLimits(now.limits, view),
  ].filter((section) => section !== "");
  const used = sections.reduce((lines, section) => lines + section.split("\n").length + 1, 0);
  const left = view.rows - used - TABLE_HEAD - 3;
  return (
    [...sections, renderSessions(now.detail?.sessions ?? [], view, Math.max(1, left))].join("\n\n") +
    keysLine(view)
  );
}

const keysLine = ({ isPaused }: TopView): string =>
  isPaused === null ? "" : `\n\np ${isPaused ? "continues" : "pauses"}   up and down move   q quits`;

/** Lists the sums, in more than one line on a narrow terminal, which would cut them off. */
function renderSums(
  { today, last_hour, calls_in_flight }: NowResponse,
  head: string,
  { columns }: Pick<TopView, "columns">,
): string {
  const cache = today.cache_percent === null ? [] : [`cache ${today.cache_percent}%`];
  const parts = [
    `today ${formatParts(today)}`,
    `last hour ${formatParts(last_hour)}`,
    `${formatCount(today.requests)} calls today`,
    ...cache,
    `${calls_in_flight} in flight`,
  ];
  return [head, ...wrapParts(parts, columns, "   ")].join("\n");
}

/** Draws the cost of each of the last 60 minutes, or of as many as the terminal has columns, relative to the highest. */
export function renderMinutes({ detail }: NowResponse, { columns }: Pick<TopView, "columns">): string {
  const costs = (detail?.minutes ?? []).slice(-columns).map(({ cost_pico_usd }) => Number(cost_pico_usd));
  const most = Math.max(0, ...costs);
  if (most === 0) return "";
  const cells = costs.map((cost) => HEIGHTS[Math.ceil((cost / most) * (HEIGHTS.length - 1))]);
  return `last ${Math.min(60, columns)} minutes\n${cells.join("")}`;
}

function renderCalls({ detail }: NowResponse, { columns }: TopView): string {
  const calls = detail?.calls ?? [];
  if (calls.length === 0) return "";
  const rows = calls
    .slice(0, MAX_CALLS)
    .map(({ client, provider, model, running_ms }: NowCall) => [
      client ?? UNKNOWN,
      provider,
      model ?? UNKNOWN,
      `${(running_ms / 1_000).toFixed(1)} s`,
    ]);
  const heads: readonly Column[] = [
    { title: "in flight", shrink: true },
    { title: "provider" },
    { title: "model", shrink: true },
    { title: "running", align: "right" },
  ];
  const more = calls.length > MAX_CALLS ? `\n${calls.length - MAX_CALLS} more` : "";
  return renderTable(heads, rows, columns) + more;
}

function renderLimits(limits: readonly LimitView[], { columns, at }: TopView): string {
  const current = limits.filter(({ is_over }) => !is_over).slice(0, MAX_LIMITS);
  if (current.length === 0) return "";
  const rows = current.map((limit) => [
    describeAccount(limit),
    describeWindow(limit),
    renderBar(limit.level === "exceeded" ? 100 : limit.used_percent, BAR_CELLS),
    describeUse(limit),
    describeReset(limit, at),
    describeFull(limit, at),
  ]);
  const heads: readonly Column[] = [
    { title: "limit", shrink: true },
    { title: "window", shrink: true },
    { title: "" },
    { title: "used", align: "right" },
    { title: "resets" },
    { title: "full" },
  ];
  return renderTable(heads, rows, columns);
}

function renderSessions(sessions: readonly NowSession[], view: TopView, maxRows: number): string {
  if (sessions.length === 0) return "No sessions in the last 24 hours.";
  const rows = sessions
    .slice(view.firstSession, view.firstSession + maxRows)
    .map((session) => [
      session.session_id,
      session.project,
      session.client ?? UNKNOWN,
      formatCount(session.requests),
      session.cache_percent === null ? UNKNOWN : `${session.cache_percent} %`,
      formatParts(session),
      formatSpan(view.at - Date.parse(session.ended_at)),
    ]);
  const heads: readonly Column[] = [
    { title: "session", shrink: true },
    { title: "project", shrink: true },
    { title: "program", shrink: true },
    { title: "calls", align: "right" },
    { title: "cache", align: "right" },
    { title: "cost", align: "right" },
    { title: "ago", align: "right" },
  ];
  return renderTable(heads, rows, view.columns);
}
