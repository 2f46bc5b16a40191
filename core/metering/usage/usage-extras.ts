import type { CallExtraName, UsageExtraName } from "../../pricing/usage-extras.ts";
import { readCount } from "./token-counts.ts";

/** The names of the extras that readers report: those used by pricing, and some that do not affect the price yet. */
type ReportedExtra =
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
  | "video_milliseconds"
  | "billable_unit_thousandths"
  | "compute_milliseconds"
  // Live audio or a connection that is billed by time. Its rates differ from those of a recording.
  | "live_audio_milliseconds"
  | "classifications"
  | "containers"
  | "trained_tokens"
  | "generated_images";

/** Sets an extra if the value is a positive count. */
export function setExtra(extras: Record<string, number>, name: ReportedExtra, value: unknown): void {
  const count = readCount(value);
  if (count !== null && count > 0) extras[name] = count;
}

/**
 * Sets an extra that is a part of one of the five counts. It is limited to that count, because a provider may include cached
 * tokens in the part without splitting them.
 */
export function setPartExtra(
  extras: Record<string, number>,
  name: ReportedExtra,
  value: unknown,
  whole: number | null,
): void {
  const count = readCount(value);
  if (count !== null && whole !== null) setExtra(extras, name, Math.min(count, whole));
}
