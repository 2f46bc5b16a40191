/** Shown for an unknown count or amount. */
export const UNKNOWN = "–";

/** Formats a count with thousands separators; a dash if it is unknown. A text is a count's digits. */
export function formatCount(count: bigint | number | string | null): string {
  if (count === null) return UNKNOWN;
  const text = count.toString();
  return text.length < 4 ? text : text.replace(/\B(?=(?:\d{3})+$)/g, ",");
}
