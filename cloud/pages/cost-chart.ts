import { html } from "hono/html";
import { type Overview, RETENTION_DAYS_MAX } from "../../core/wire/mod.ts";
import { type CostedSum, dateOf, formatCost, formatCount, formatUsd } from "./format.ts";
import type { Markup } from "./layout.ts";

const DAY_MS = 86_400_000;

/** Most days of a chart: all that the longest retention lets anybody see, to the present one. */
const MOST_DAYS = RETENTION_DAYS_MAX + 1;

/** The drawing's own units; the stylesheet stretches it. */
const [HEIGHT, SLOT, GAP] = [100, 10, 2];

type Day = CostedSum & { readonly date: string };

/** A day without a request. */
const NOTHING: CostedSum = {
  requests: 0,
  unpriced_requests: 0,
  cost_pico_usd: "0",
  prompt_tokens: 0,
  completion_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  thinking_tokens: 0,
};

/**
 * Every UTC day of an overview's period, also those without a request. The end of a period is the asker's to choose, so
 * what lies too far ahead is left out: a page of all days to the year 9999 would take the server's memory.
 */
export function daysOf({ from, to, days }: Pick<Overview, "from" | "to" | "days">): readonly Day[] {
  const byDate = new Map(days.map((day) => [dateOf(day.start), day]));
  const first = Date.parse(dateOf(from));
  // The period is half-open: one that ends at midnight does not touch the day that begins there.
  const touched = Math.ceil((Date.parse(to) - first) / DAY_MS);
  const count = Math.min(Math.max(1, touched), MOST_DAYS);
  return Array.from({ length: count }, (_, index) => {
    const date = dateOf(first + index * DAY_MS);
    return { ...(byDate.get(date) ?? NOTHING), date };
  });
}

/** A bar for each day, drawn by the server without styles of its own, and the same figures as a table. */
export function costChart(overview: Pick<Overview, "from" | "to" | "days">): Markup {
  const days = daysOf(overview);
  const highest = days.reduce(
    (top, { cost_pico_usd: cost }) => (BigInt(cost) > top ? BigInt(cost) : top),
    0n,
  );
  const bars = days.map((day, index) => {
    const cost = BigInt(day.cost_pico_usd);
    // A day that cost something is never invisible.
    const share = highest === 0n ? 0 : Number((cost * 1_000n) / highest) / 1_000;
    const height = cost > 0n ? Math.max(1, share * HEIGHT) : 0;
    const x = index * SLOT;
    return html`<g><title>${inWords(day)}</title><rect class="reach" x="${x}" y="0" width="${SLOT}" height="${HEIGHT}"/><rect class="bar" x="${x + GAP / 2}" y="${HEIGHT - height}" width="${SLOT - GAP}" height="${height}"/></g>`;
  });
  const [first, last] = [days[0], days.at(-1)] as [Day, Day];
  const used = days.filter(({ requests }) => requests > 0).toReversed();
  return html`<svg viewBox="0 0 ${days.length * SLOT} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Cost per day; the highest is ${formatUsd(highest)}">${bars}</svg>
<div class="axis"><span>${first.date}</span><span>highest day ${formatUsd(highest)}</span><span>${last.date}</span></div>
<details><summary>Cost per day as a table</summary>
<div class="scroll"><table><thead><tr><th scope="col">Day (UTC)</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Cost</th></tr></thead>
<tbody>${used.map((day) => html`<tr><td>${day.date}</td><td class="number">${formatCount(day.requests)}</td><td class="number">${formatCost(day)}</td></tr>`)}</tbody></table></div></details>`;
}

function inWords(day: Day): string {
  const { date, requests } = day;
  return `${date}: ${formatCost(day)}, ${formatCount(requests)} ${requests === 1 ? "request" : "requests"}`;
}
