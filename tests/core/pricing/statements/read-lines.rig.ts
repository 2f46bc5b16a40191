import assert from "node:assert/strict";
import type { ReadLines, StatementLine } from "../../../../core/pricing/statements/statement-line.ts";

/** Returns the lines that were read, each without what it does not state. */
export function linesOf(read: ReadLines): Partial<StatementLine>[] {
  assert.ok(read.ok, read.ok ? "" : read.problem);
  const isStated = (value: unknown) =>
    value !== null && (typeof value !== "object" || Object.keys(value).length > 0);
  return read.lines.map((line) =>
    Object.fromEntries(Object.entries(line).filter(([, value]) => isStated(value))),
  );
}

/** Returns why nothing was read. */
export function problemOf(read: ReadLines): string {
  return read.ok ? assert.fail("it was read") : read.problem;
}
