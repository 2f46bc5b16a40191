/** A count with thousands set apart; a dash where nobody stated it. */
export function count(value: bigint | number | null): string {
  return value === null ? "–" : value.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A count with its noun, whose plural takes an s unless it is given. */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;
