/** Returns the marks of an axis from 0 to at least `max`, at most `count` steps apart by 1, 2 or 5 times a power of ten. */
export function ticksUpTo(max: bigint, count = 4): bigint[] {
  if (max <= 0n) return [0n];
  const steps = BigInt(count);
  let step = 1n;
  for (let at = 0; step * steps < max; at += 1)
    step = 10n ** BigInt(Math.floor(at / 3)) * [2n, 5n, 10n][at % 3]!;
  const last = (max + step - 1n) / step;
  return Array.from({ length: Number(last) + 1 }, (_, at) => step * BigInt(at));
}
