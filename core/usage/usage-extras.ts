import type { CallExtraName, UsageExtraName } from "../pricing/usage-extras.ts";
import { readCount } from "./token-counts.ts";

/** The extras that readers report: those that pricing knows, and some that are kept for later and change no price yet. */
export type ReportedExtra =
  | UsageExtraName
  | CallExtraName
  | "web_fetch_requests"
  | "num_sources_used"
  | "x_search_requests"
  | "code_execution_requests"
  | "cache_write_30m_tokens"
  | "cache_write_12h_tokens"
  | "stated_pages"
  | "stated_annotated_pages"
  | "billable_characters"
  | "generated_images";

/** Sets an extra when the value is a positive count. */
export function setExtra(extras: Record<string, number>, name: ReportedExtra, value: unknown): void {
  const count = readCount(value);
  if (count !== null && count > 0) extras[name] = count;
}

/**
 * Sets an extra that is a part of one of the five counts. Where the provider's part reaches beyond that count (because it
 * includes cached tokens that it does not split), it is cut to the count: an extra is never larger than what it is part of.
 */
export function setPart(
  extras: Record<string, number>,
  name: ReportedExtra,
  value: unknown,
  whole: number | null,
): void {
  const count = readCount(value);
  if (count !== null && whole !== null) setExtra(extras, name, Math.min(count, whole));
}
