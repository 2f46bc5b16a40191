import type { Transaction } from "kysely";
import type { Sha256 } from "../../core/hash.ts";
import { appendPromptView, emptyHead, type LedgerHead, type LedgerRow } from "../../core/ledger/mod.ts";
import type { Millis } from "../../core/time.ts";
import { formatInstant } from "../../core/wire/mod.ts";
import type { CloudSchema } from "./schema.ts";

/** A view of a teammate's prompt, as server and session know it. */
export interface NewPromptView {
  readonly workspaceId: string;
  readonly viewId: string;
  readonly requestId: string;
  readonly viewerUserId: string;
  readonly subjectUserId: string;
  readonly consentGrantId: string | null;
  readonly reason: string;
  readonly viewedAt: Millis;
  readonly clientIp: string | null;
  readonly userAgent: string | null;
}

/**
 * Appends a view to its workspace's chain, in the caller's transaction, which is of that workspace. The head's row is
 * held until the transaction ends, so that views of one workspace queue here and no two follow the same row.
 */
export async function appendView(
  trx: Transaction<CloudSchema>,
  view: NewPromptView,
  sha256: Sha256,
): Promise<void> {
  const { workspaceId } = view;
  const empty = emptyHead(workspaceId);
  await trx
    .insertInto("prompt_view_heads")
    .values(empty)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const head = await trx
    .selectFrom("prompt_view_heads")
    .select(["seq", "hash"])
    .where("workspace_id", "=", workspaceId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const next = appendPromptView(
    { workspace_id: workspaceId, seq: Number(head.seq), hash: head.hash },
    {
      workspace_id: workspaceId,
      // Hashed as the database will give them back.
      view_id: view.viewId.toLowerCase(),
      request_id: view.requestId.toLowerCase(),
      viewer_user_id: view.viewerUserId,
      subject_user_id: view.subjectUserId,
      consent_grant_id: view.consentGrantId,
      reason: view.reason,
      viewed_at: formatInstant(view.viewedAt),
      client_ip: view.clientIp,
      user_agent: view.userAgent,
    },
    sha256,
  );
  await trx
    .insertInto("prompt_views")
    .values({ ...next.row, viewed_at: view.viewedAt })
    .execute();
  await trx
    .updateTable("prompt_view_heads")
    .set({ seq: next.head.seq, hash: next.head.hash })
    .where("workspace_id", "=", workspaceId)
    .execute();
}

/** A stored row as it was hashed. */
export function toLedgerRow(row: StoredView): LedgerRow {
  return { ...row, seq: Number(row.seq), viewed_at: formatInstant(row.viewed_at) };
}

/** A row of `prompt_views` as the adapters read it. */
export type StoredView = Omit<LedgerRow, "seq" | "viewed_at"> & {
  readonly seq: string;
  readonly viewed_at: Millis;
};

/** The head as the database has it; an empty one for a workspace without views. */
export async function readHead(trx: Transaction<CloudSchema>, workspaceId: string): Promise<LedgerHead> {
  const head = await trx
    .selectFrom("prompt_view_heads")
    .select(["seq", "hash"])
    .where("workspace_id", "=", workspaceId)
    // Waits for a view that is being appended, and lets none in until the rows were read.
    .forShare()
    .executeTakeFirst();
  if (head === undefined) return emptyHead(workspaceId);
  return { workspace_id: workspaceId, seq: Number(head.seq), hash: head.hash };
}
