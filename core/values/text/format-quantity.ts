import { formatCount } from "./format-count.ts";

/** Formats a count with its noun and thousands separators: `1,200 records`. `many` is the plural, by default `one` plus "s". */
export function formatQuantity(count: bigint | number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${Number(count) === 1 ? one : many}`;
}
