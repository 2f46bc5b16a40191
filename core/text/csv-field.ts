/** A field of RFC 4180; text that a spreadsheet would take for a formula gets an apostrophe. */
export function csvField(value: string | number | bigint | boolean | null): string {
  if (value === null) return "";
  if (typeof value !== "string") return value.toString();
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
