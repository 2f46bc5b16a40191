import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { isRetryDue } from "./retry-due.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** A threshold that a budget reached in a period. */
export interface ReachedThreshold {
  readonly budgetId: string;
  readonly periodFrom: Millis;
  readonly thresholds: readonly number[];
  readonly limit: bigint;
}

/** How long a warning that could not be sent waits until it is tried again, milliseconds. */
export const WARNING_RETRY_MS = 600_000;

/** How long warnings are kept, milliseconds: longer than any period but a total, whose warnings are kept with the budget. */
const WARNINGS_KEPT_MS = 62 * 86_400_000;

/**
 * Claims the warnings of a budget that were not sent yet, and returns their thresholds. Of concurrent calls, one gets each. A claimed
 * warning that is not confirmed by `confirmWarnings()` can be claimed again later.
 */
export async function claimWarnings(
  db: CloudDatabase,
  workspaceId: string,
  { budgetId, periodFrom, thresholds, limit }: ReachedThreshold,
  now: Millis,
): Promise<readonly number[]> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const claimed = await trx
      .insertInto("budget_warnings")
      .values(
        thresholds.map((threshold) => ({
          ...{ workspace_id: workspaceId, budget_id: budgetId, period_from: periodFrom, threshold },
          ...{ limit_amount: `${limit}`, tried_at: now, sent_at: null },
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["workspace_id", "budget_id", "period_from", "threshold", "limit_amount"])
          .doUpdateSet({ tried_at: now })
          .where("budget_warnings.sent_at", "is", null)
          .where(({ ref }) => isRetryDue(ref("budget_warnings.tried_at"), now, WARNING_RETRY_MS)),
      )
      .returning("threshold")
      .execute();
    if (claimed.length > 0)
      await sql`delete from budget_warnings where workspace_id = ${workspaceId}::uuid and budget_id = ${budgetId}::uuid
        and period_from < ${periodFrom}::timestamptz and tried_at < ${now - WARNINGS_KEPT_MS}::timestamptz`.execute(
        trx,
      );
    return claimed.map(({ threshold }) => threshold);
  });
}

/** Records that warnings were sent. */
export async function confirmWarnings(
  db: CloudDatabase,
  workspaceId: string,
  { budgetId, periodFrom, thresholds, limit }: ReachedThreshold,
  now: Millis,
): Promise<void> {
  await inScope(db, { workspaceId }, (trx) =>
    trx
      .updateTable("budget_warnings")
      .set({ sent_at: now })
      .where("workspace_id", "=", workspaceId)
      .where("budget_id", "=", budgetId)
      .where("period_from", "=", periodFrom)
      .where("threshold", "in", thresholds)
      .where("limit_amount", "=", `${limit}`)
      .execute(),
  );
}

/** Returns the warnings that need no email now, as `warningKey()` writes them: they were sent, or tried shortly before. */
export async function listSettledWarnings(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  now: Millis,
): Promise<ReadonlySet<string>> {
  const rows = await trx
    .selectFrom("budget_warnings")
    .select(["budget_id", "period_from", "threshold", "limit_amount"])
    .where("workspace_id", "=", workspaceId)
    .where(({ or, not, eb, ref }) =>
      or([eb("sent_at", "is not", null), not(isRetryDue(ref("tried_at"), now, WARNING_RETRY_MS))]),
    )
    .execute();
  return new Set(
    rows.map((row) => warningKey(row.budget_id, row.period_from, row.threshold, row.limit_amount)),
  );
}

/** Returns the key of a warning. */
export const warningKey = (
  budgetId: string,
  periodFrom: Millis,
  threshold: number,
  limit: string | bigint,
): string => `${budgetId} ${periodFrom} ${threshold} ${limit}`;
