import type { NowResponse, NowSums } from "../../../daemon/api/now-routes.ts";
import { COST_PARTS_SHORT, formatParts } from "../../render/format-parts.ts";
import { formatClock } from "../../render/limit-text.ts";
import { printable } from "../../render/printable.ts";
import type { ClaudeInput, ClaudeWindow } from "./claude-input.ts";

/** How many windows the line has at most. */
const MAX_WINDOWS = 3;

/** How many budgets the line has at most. */
const MAX_BUDGETS = 2;

/** From this use, in percent, the line also says when the window is full. */
const NEAR_PERCENT = 50;

const SEPARATOR = " · ";

const hasCost = (sums: NowSums): boolean => COST_PARTS_SHORT.some(([member]) => BigInt(sums[member]) > 0n);

/** Renders the line. `now` is null if no daemon answers, `input` if Claude Code passed nothing. */
export function renderStatusline(now: NowResponse | null, input: ClaudeInput | null, at: number): string {
  const parts = [
    ...(input?.model == null ? [] : [printable(input.model)]),
    ...sessionPart(now, input),
    ...(now === null ? [] : [`today ${formatParts(now.today)}`]),
    ...(now !== null && hasCost(now.last_hour) ? [`${formatParts(now.last_hour)}/h`] : []),
    ...cachePart(now),
    ...windowParts(now, input, at),
    ...budgetParts(now, at),
  ];
  if (now === null) parts.push("meter is not running");
  return parts.join(SEPARATOR);
}

/** The session's cost as metered, or else as Claude Code computes it. */
function sessionPart(now: NowResponse | null, input: ClaudeInput | null): string[] {
  if (now?.session != null) return [`session ${formatParts(now.session)}`];
  if (input?.costUsd == null) return [];
  return [`session $${input.costUsd.toFixed(2)}`];
}

function cachePart(now: NowResponse | null): string[] {
  const percent = now?.session?.cache_percent ?? now?.today.cache_percent ?? null;
  return percent === null ? [] : [`cache ${percent}%`];
}

/** The windows with the highest use; Claude Code's own if the daemon knows none. */
function windowParts(now: NowResponse | null, input: ClaudeInput | null, at: number): string[] {
  const known = (now?.limits ?? []).filter(({ is_over, used_percent }) => !is_over && used_percent !== null);
  if (known.length === 0) return (input?.limits ?? []).map((window) => claudeWindow(window, at));
  return known
    .toSorted((one, other) => other.used_percent! - one.used_percent!)
    .slice(0, MAX_WINDOWS)
    .map(({ provider, window, scope, used_percent, resets_at, full, full_at }) => {
      const name =
        input === null && known.some((each) => each.provider !== provider) ? `${provider} ${window}` : window;
      const reset = resets_at === null ? "" : ` → ${formatClock(Date.parse(resets_at), at)}`;
      const isNear = full === "at" && full_at !== null && used_percent! >= NEAR_PERCENT;
      const forecast = isNear ? `, full ${formatClock(Date.parse(full_at), at)}` : "";
      return `${name}${scope === null ? "" : ` ${scope}`} ${Math.floor(used_percent!)}%${reset}${forecast}`;
    });
}

/** The budgets that reached a threshold, or stop calls. The daemon may be of an older version. */
function budgetParts(now: NowResponse | null, at: number): string[] {
  return (now?.budgets ?? []).slice(0, MAX_BUDGETS).map(({ name, status, used_percent, lifted_until }) => {
    if (status === "lifted" && lifted_until !== null)
      return `budget ${name} lifted until ${formatClock(Date.parse(lifted_until), at)}`;
    return `budget ${name} ${status === "tripped" ? "stopped" : `${used_percent}%`}`;
  });
}

function claudeWindow({ window, usedPercent, resetsAt }: ClaudeWindow, at: number): string {
  const reset = resetsAt === null ? "" : ` → ${formatClock(resetsAt, at)}`;
  return `${window} ${Math.floor(usedPercent)}%${reset}`;
}
