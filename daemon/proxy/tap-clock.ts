/** Returns milliseconds since the epoch, from a clock that never steps back. */
export function tapClock(): number {
  return performance.timeOrigin + performance.now();
}
