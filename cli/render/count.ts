/** A count with thousands set apart; a dash where nobody stated it. */
export function count(value: bigint | number | null): string {
  return value === null ? "–" : value.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}
