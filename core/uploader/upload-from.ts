import type { Millis } from "../time.ts";

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

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/**
 * Reads the watermark. Source: contract, "Local daemon configuration keys". A date means its midnight, UTC; a datetime
 * is normalised to UTC. Decision: a datetime without an offset is taken as UTC, like everything else that is stored.
 */
export function parseUploadFrom(value: string): UploadFrom {
  const text = value.trim();
  const word = text.toLowerCase();
  if (word === "now" || word === "none") return { kind: word };
  const at = instantOf(FORM.exec(text));
  if (at !== null) return { kind: "instant", at };
  const warning = `cloud.bodies.upload_from is neither now, none, a date nor a datetime, so bodies of all dates are uploaded: ${JSON.stringify(value)}`;
  return { kind: "malformed", warning };
}

function instantOf(match: RegExpExecArray | null): Millis | null {
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = "0", , sign, ...offset] =
    match;
  const [offsetHour, offsetMinute] = [Number(offset[0] ?? 0), Number(offset[1] ?? 0)];
  const midnight = new Date(0);
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const exists = midnight.getUTCMonth() === Number(month) - 1 && midnight.getUTCDate() === Number(day);
  const inRange = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  if (!exists || !inRange || offsetHour > 23 || offsetMinute > 59) return null;
  const minutes = Number(hour) * 60 + Number(minute);
  const offsetMinutes = (offsetHour * 60 + offsetMinute) * (sign === "-" ? -1 : 1);
  const milliseconds = Number(second) * 1000 + Math.trunc(Number(`0.${fraction}`) * 1000);
  return midnight.getTime() + (minutes - offsetMinutes) * 60_000 + milliseconds;
}

/** The instant from which bodies are uploaded, or `null` for no filter. `nowAt` is the kept moment that `now` stands for. */
export function watermarkOf(uploadFrom: UploadFrom, nowAt: Millis): Millis | null {
  if (uploadFrom.kind === "now") return nowAt;
  return uploadFrom.kind === "instant" ? uploadFrom.at : null;
}
