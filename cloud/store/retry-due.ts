import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import type { Millis } from "../../core/values/time.ts";

/** Whether an email that was tried at a time, and not sent, is tried again. */
export function isRetryDue(
  triedAt: Expression<Millis | null>,
  now: Millis,
  retryMs: number,
): Expression<SqlBool> {
  const eb = expressionBuilder();
  return eb.or([
    eb(triedAt, "<=", now - retryMs),
    // The clock was ahead at the attempt, by more than two processes may differ.
    eb(triedAt, ">", now + retryMs),
  ]);
}
