import type { Millis } from "../time.ts";
import { parseCalendarDate, parseInstant } from "../wire/instant.ts";

/** `[cloud.bodies] upload_from`, read. */
export type UploadFrom =
  /** From the moment when this is first read; the caller keeps that moment. */
  | { readonly kind: "now" }
  /** Bodies captured at `at` or later. */
  | { readonly kind: "instant"; readonly at: Millis }
  /** All history. */
  | { readonly kind: "none" }
  /** No filter, as the contract says, and a warning. */
  | { readonly kind: "malformed"; readonly warning: string };

/**
 * Reads the watermark. Source: contract, "Local daemon configuration keys". A date means its midnight, UTC; a datetime
 * is normalised to UTC; without an offset it is taken as UTC, like everything else that is stored.
 */
export function parseUploadFrom(value: string): UploadFrom {
  const text = value.trim();
  const word = text.toLowerCase();
  if (word === "now" || word === "none") return { kind: word };
  const at = parseCalendarDate(text) ?? parseInstant(text);
  if (at !== null) return { kind: "instant", at };
  const warning = `cloud.bodies.upload_from is neither now, none, a date nor a datetime, so bodies of all dates are uploaded: ${JSON.stringify(value)}`;
  return { kind: "malformed", warning };
}

/** The instant from which bodies are uploaded, or `null` for no filter. `nowAt` is the kept moment that `now` stands for. */
export function watermarkOf(uploadFrom: UploadFrom, nowAt: Millis): Millis | null {
  if (uploadFrom.kind === "now") return nowAt;
  return uploadFrom.kind === "instant" ? uploadFrom.at : null;
}
