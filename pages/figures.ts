import { html } from "hono/html";
import { formatPicoUsd } from "../core/pricing/money.ts";
import { formatCount, UNKNOWN } from "../core/values/text/format-count.ts";
import { formatShortCount, formatShortUsd } from "./formats.ts";
import type { Html } from "./html.ts";

/** Renders a cost. A copy of it has every digit. */
export const renderUsd = (picoUsd: bigint | null): Html =>
  picoUsd === null
    ? html`${UNKNOWN}`
    : html`<data value="${formatPicoUsd(picoUsd)}">${formatShortUsd(picoUsd)}</data>`;

/** Renders a count with three significant digits. A copy of it has every digit. */
export const renderShortCount = (count: number | bigint | null): Html =>
  count === null
    ? html`${UNKNOWN}`
    : html`<data value="${count}" title="${formatCount(count)}">${formatShortCount(count)}</data>`;

/** Formats a share as a percentage: one decimal below 10 %, and `<0.1%` for anything smaller. Null without a whole. */
export function formatShare(part: bigint | number, whole: bigint | number): string {
  const [one, all] = [Number(part), Number(whole)];
  if (all === 0) return UNKNOWN;
  const percent = (100 * one) / all;
  if (percent > 0 && percent < 0.1) return "<0.1%";
  // A share below the whole is never shown as the whole.
  if (percent < 100 && percent > 99.9) return "99.9%";
  return percent < 10 || percent > 99 ? `${Math.round(percent * 10) / 10}%` : `${Math.round(percent)}%`;
}

/** Formats the change from one amount to another: `+8%`, `−4%`, `×12`; "new" if there was nothing before. */
export function formatChange(now: bigint | number, before: bigint | number): string {
  const [to, from] = [Number(now), Number(before)];
  if (from === 0) return to === 0 ? "no change" : "new";
  const ratio = to / from;
  if (ratio >= 10) return `×${Math.round(ratio)}`;
  const percent = Math.round((ratio - 1) * 100);
  return percent === 0 ? "no change" : percent > 0 ? `+${percent}%` : `−${-percent}%`;
}

/**
 * Renders a change. It is isolated: a sign at the beginning of a text would be shown at its end where text is read from right to left.
 */
export const renderChange = (now: bigint | number, before: bigint | number): Html =>
  html`<bdi>${formatChange(now, before)}</bdi>`;

/** Renders a share, isolated, since it can begin with `<`. */
export const renderShare = (part: bigint | number, whole: bigint | number): Html =>
  html`<bdi>${formatShare(part, whole)}</bdi>`;

/** Renders an amount with its sign, isolated: `−` if it is negative, with `plus` also `+` if it is positive. */
export function renderSignedUsd(picoUsd: bigint, plus: "+" | "" = ""): Html {
  if (picoUsd === 0n) return renderUsd(picoUsd);
  return html`<bdi>${picoUsd < 0n ? "−" : plus}${renderUsd(picoUsd < 0n ? -picoUsd : picoUsd)}</bdi>`;
}

/** Formats an age or a length of time in one or two units: `45 s`, `12 min`, `1 h 12 min`, `3 d`. */
export function formatSpan(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (ms < 60_000) return `${Math.max(0, Math.round(ms / 1_000))} s`;
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60)
    return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 1_440)} d`;
}
