import type { CalendarDate, Millis } from "../../core/values/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { isRetryDue } from "./retry-due.ts";
import { inScope } from "./transaction.ts";

/** A person who gets the weekly email about a workspace. */
export interface SummaryReader {
  readonly userId: string;
  readonly workspaceId: string;
}

/** A reader, and the Monday on which their last summary ended. */
export interface Subscription extends SummaryReader {
  readonly sentUntil: CalendarDate;
}

/** How long after an attempt an unconfirmed email is sent again, milliseconds. */
export const SUMMARY_RETRY_MS = 3_600_000;

/** Lists the workspaces about which a person gets emails. */
export async function listOwnSummaries(db: CloudDatabase, userId: string): Promise<ReadonlySet<string>> {
  const rows = await inScope(db, { userId }, (trx) =>
    trx.selectFrom("weekly_summaries").select("workspace_id").where("user_id", "=", userId).execute(),
  );
  return new Set(rows.map(({ workspace_id }) => workspace_id));
}

/** Starts the emails. The first one is that of the week after `sentUntil`. Idempotent: a person who gets them keeps their token. */
export async function startSummary(
  db: CloudDatabase,
  { userId, workspaceId, sentUntil }: Subscription,
  token: string,
  now: Millis,
): Promise<void> {
  await inScope(db, { userId }, (trx) =>
    trx
      .insertInto("weekly_summaries")
      .values({
        ...{ user_id: userId, workspace_id: workspaceId, token },
        ...{ created_at: now, sent_until: sentUntil, tried_at: null },
      })
      .onConflict((conflict) => conflict.columns(["user_id", "workspace_id"]).doNothing())
      .execute(),
  );
}

/** Ends the emails. If a token is given, only if it is the person's. Idempotent. */
export async function stopSummary(
  db: CloudDatabase,
  { userId, workspaceId }: SummaryReader,
  token: string | null = null,
): Promise<void> {
  await inScope(db, { userId }, (trx) =>
    trx
      .deleteFrom("weekly_summaries")
      .where("user_id", "=", userId)
      .where("workspace_id", "=", workspaceId)
      .$if(token !== null, (query) => query.where("token", "=", token ?? ""))
      .execute(),
  );
}

/** Lists everybody whose last summary ended before a Monday, of all workspaces. */
export async function listSubscriptions(
  db: CloudDatabase,
  before: CalendarDate,
): Promise<readonly Subscription[]> {
  const rows = await inScope(
    db,
    {},
    (trx) =>
      trx
        .selectFrom("weekly_summaries")
        .select(["user_id", "workspace_id", "sent_until"])
        .where("sent_until", "<", before)
        .orderBy("workspace_id")
        .orderBy("user_id")
        .execute(),
    "meter_purge",
  );
  return rows.map((row) => ({
    userId: row.user_id,
    workspaceId: row.workspace_id,
    sentUntil: row.sent_until,
  }));
}

/**
 * Claims the summary that ends on a Monday. Of concurrent calls, one gets the token; the others null. A claim that is not confirmed
 * can be made again later.
 */
export async function claimSummary(
  db: CloudDatabase,
  { userId, workspaceId }: SummaryReader,
  monday: CalendarDate,
  now: Millis,
): Promise<string | null> {
  const row = await inScope(db, { userId }, (trx) =>
    trx
      .updateTable("weekly_summaries")
      .set({ tried_at: now })
      .where("user_id", "=", userId)
      .where("workspace_id", "=", workspaceId)
      .where("sent_until", "<", monday)
      .where(({ or, eb, ref }) =>
        or([eb("tried_at", "is", null), isRetryDue(ref("tried_at"), now, SUMMARY_RETRY_MS)]),
      )
      .returning("token")
      .executeTakeFirst(),
  );
  return row?.token ?? null;
}

/** Records that the summary was sent. */
export async function confirmSummary(
  db: CloudDatabase,
  { userId, workspaceId }: SummaryReader,
  monday: CalendarDate,
): Promise<void> {
  await inScope(db, { userId }, (trx) =>
    trx
      .updateTable("weekly_summaries")
      .set({ sent_until: monday, tried_at: null })
      .where("user_id", "=", userId)
      .where("workspace_id", "=", workspaceId)
      .execute(),
  );
}
