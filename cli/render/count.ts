/** A count with thousands set apart; a dash where nobody stated it. */
export function count(value: bigint | number | null): string {
  return value === null ? "–" : value.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A count with its noun, whose plural takes an s. */
export const counted = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
