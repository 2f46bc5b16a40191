import { formatSpan } from "./format-span.ts";

/** What the text of a limit needs. `LimitView` of the loopback API has it. */
export interface LimitTextFacts {
  readonly provider: string;
  readonly account: string | null;
  readonly window: string;
  readonly scope: string | null;
  readonly unit: string;
  readonly used_percent: number | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resets_at: string | null;
  readonly level: string;
  readonly seen_at: string;
  readonly is_over: boolean;
  readonly elapsed_percent: number | null;
  readonly burn_percent_per_hour: number | null;
  readonly full: string;
  readonly full_at: string | null;
}

// The dash of `core/values/text`. It is repeated here because the status line does not load that module, which would
// take longer than the command.
const UNKNOWN = "–";

const DAY_MS = 86_400_000;

/** The characters of an account's hash that are shown. */
const ACCOUNT_CHARACTERS = 6;

const two = (value: number) => String(value).padStart(2, "0");

/** Formats a time of this machine: `14:05`, or with the date if it is more than a day away. */
export function formatClock(at: number, now: number): string {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (Math.abs(at - now) < DAY_MS) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** Draws a share as a bar. A share that is not 0 has at least one full cell. */
export function renderBar(percent: number | null, cells: number): string {
  if (percent === null) return "░".repeat(cells);
  const full = Math.min(cells, Math.max(percent > 0 ? 1 : 0, Math.floor((percent * cells) / 100)));
  return "▓".repeat(full) + "░".repeat(cells - full);
}

/** Names the account of a limit: the provider and the start of the account's hash. */
export const describeAccount = ({ provider, account }: LimitTextFacts): string =>
  account === null ? provider : `${provider} ${account.slice(0, ACCOUNT_CHARACTERS)}`;

/** Names the window of a limit, such as `7d opus` or `rate tokens gpt-5`. */
export function describeWindow({ window, scope, unit }: LimitTextFacts): string {
  const counted = unit === "share" || unit === window || unit === "micro_usd" ? [] : [unit.replace("_", " ")];
  return [window, ...counted, ...(scope === null ? [] : [scope])].join(" ");
}

/** Describes what is used, or left of a limit without a share. */
export function describeUse({
  used_percent,
  remaining,
  limit,
  unit,
  level,
  is_over,
}: LimitTextFacts): string {
  if (is_over) return UNKNOWN;
  const amount = (value: number) =>
    unit === "micro_usd" ? `$${(value / 1e6).toFixed(2)}` : value.toLocaleString("en-US");
  if (used_percent !== null && (unit === "share" || limit === null || remaining === null))
    return `${Math.floor(used_percent)} %`;
  if (remaining !== null && limit !== null) return `${amount(limit - remaining)} of ${amount(limit)}`;
  if (remaining !== null) return `${amount(remaining)} left`;
  return level === "exceeded" ? "used up" : UNKNOWN;
}

/** Describes when a window resets: how long that is from now, and the time. */
export function describeReset({ resets_at, is_over }: LimitTextFacts, now: number): string {
  if (resets_at === null) return UNKNOWN;
  const at = Date.parse(resets_at);
  if (is_over) return `${formatSpan(now - at)} ago`;
  return `${formatSpan(at - now)} (${formatClock(at, now)})`;
}

/** Describes whether a window lasts at its burn rate. */
export function describeFull({ full, full_at }: LimitTextFacts, now: number): string {
  if (full === "full") return "now";
  if (full === "lasts") return "lasts";
  return full_at === null ? UNKNOWN : `about ${formatClock(Date.parse(full_at), now)}`;
}
