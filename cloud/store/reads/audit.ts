import { type Selectable, sql } from "kysely";
import type { LedgerRow } from "../../../core/privacy/ledger/prompt-view-chain.ts";
import type { CloudDatabase } from "../open-database.ts";
import { toLedgerRow } from "../prompt-view-ledger.ts";
import type { CloudSchema } from "../schema.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { inReadScope } from "./read-scope.ts";
import type { Span } from "./usage-spans.ts";

/** An audit event as stored. */
export type AuditEventRow = Selectable<CloudSchema["audit_events"]>;

/** Lists the views of a period, newest first by their position in the chain, since the clocks of several instances differ. */
export async function listPromptViews(
  db: CloudDatabase,
  workspaceId: string,
  options: Span & PageRequest & { readonly viewer: string | null; readonly subject: string | null },
): Promise<Page<LedgerRow>> {
  const { from, to, after, limit, viewer, subject } = options;
  const rows = await inReadScope(db, { workspaceId }, async (trx) => {
    let query = trx
      .selectFrom("prompt_views")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .where("viewed_at", ">=", from)
      .where("viewed_at", "<", to);
    if (after !== null) query = query.where("seq", "<", after.id);
    if (viewer !== null) query = query.where("viewer_user_id", "=", viewer);
    if (subject !== null) query = query.where("subject_user_id", "=", subject);
    return await query
      .orderBy("seq", "desc")
      .limit(limit + 1)
      .execute();
  });
  const page = toPage(rows, limit, (row) => ({ at: row.viewed_at, id: row.seq }));
  return { ...page, rows: page.rows.map(toLedgerRow) };
}

/** Lists the audit events of a period, newest first. */
export async function listAuditEvents(
  db: CloudDatabase,
  workspaceId: string,
  options: Span & PageRequest,
): Promise<Page<AuditEventRow>> {
  const { from, to, after, limit } = options;
  const rows = await inReadScope(db, { workspaceId }, async (trx) => {
    let query = trx
      .selectFrom("audit_events")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .where("at", ">=", from)
      .where("at", "<", to);
    if (after !== null) {
      query = query.where(sql<boolean>`(at, event_id) < (${after.at}::timestamptz, ${after.id}::uuid)`);
    }
    return await query
      .orderBy("at", "desc")
      .orderBy("event_id", "desc")
      .limit(limit + 1)
      .execute();
  });
  return toPage(rows, limit, (row) => ({ at: row.at, id: row.event_id }));
}
