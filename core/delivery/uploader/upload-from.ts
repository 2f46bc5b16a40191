import type { Millis } from "../../values/time.ts";
import { parseCalendarDate, parseInstant } from "../../wire/instant.ts";

/** The parsed value of `[cloud.bodies] upload_from`. */
export type UploadFrom =
  /** From the time when the value is first read, which the caller stores. */
  | { readonly kind: "now" }
  /** Bodies captured at `at` or later. */
  | { readonly kind: "instant"; readonly at: Millis }
  /** All history. */
  | { readonly kind: "none" }
  /** No filter, and a warning. Source: docs/specification.md#body-uploader. */
  | { readonly kind: "malformed"; readonly warning: string };

/**
 * Parses the watermark. A date means its midnight in UTC. A datetime is converted to UTC; without an offset it is UTC. Source:
 * docs/specification.md#configuration-keys.
 */
export function parseUploadFrom(value: string): UploadFrom {
  const text = value.trim();
  const word = text.toLowerCase();
  if (word === "now" || word === "none") return { kind: word };
  const at = parseCalendarDate(text) ?? parseInstant(text);
  if (at !== null) return { kind: "instant", at };
  const warning = `cloud.bodies.upload_from must be now, none, a date or a datetime; bodies of all dates are uploaded: ${JSON.stringify(value)}`;
  return { kind: "malformed", warning };
}

/** Returns the instant from which bodies are uploaded, or `null` for no filter. `nowAt` is the stored time for `now`. */
export function resolveUploadFrom(uploadFrom: UploadFrom, nowAt: Millis): Millis | null {
  if (uploadFrom.kind === "now") return nowAt;
  return uploadFrom.kind === "instant" ? uploadFrom.at : null;
}
