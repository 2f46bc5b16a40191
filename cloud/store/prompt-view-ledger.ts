import { sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { emptyHead } from "../../core/privacy/ledger/chain.ts";
import { appendPromptView, type LedgerRow } from "../../core/privacy/ledger/prompt-view-chain.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { expectRows, updateOne } from "./affected-rows.ts";
import type { CloudSchema } from "./schema.ts";

/** A view of a teammate's prompt, with facts from the server and the session. */
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

/** The SHA-256 of each side of a body; null for a side that is not stored. */
export interface BodyHashes {
  readonly request_sha256: string | null;
  readonly response_sha256: string | null;
}

/**
 * Appends a view of these bytes to its workspace's chain, in the caller's transaction, whose scope must be that workspace.
 * The head's row stays locked until the transaction ends, so that views of one workspace are appended one after another.
 */
export async function appendView(
  trx: Transaction<CloudSchema>,
  view: NewPromptView,
  seen: BodyHashes,
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
    // 122 random bits: an address or a short reason can't be guessed from its hash once the salt is erased.
    .select(sql<string>`gen_random_uuid()::text`.as("salt"))
    .where("workspace_id", "=", workspaceId)
    .forUpdate()
    .executeTakeFirst();
  if (head === undefined) throw new DatabaseError("conflict");
  const next = appendPromptView(
    { workspace_id: workspaceId, seq: Number(head.seq), hash: head.hash },
    {
      workspace_id: workspaceId,
      // Hashed in the form in which the database returns them.
      view_id: view.viewId.toLowerCase(),
      request_id: view.requestId.toLowerCase(),
      viewer_user_id: view.viewerUserId,
      subject_user_id: view.subjectUserId,
      consent_grant_id: view.consentGrantId,
      reason: view.reason,
      viewed_at: formatInstant(view.viewedAt),
      client_ip: view.clientIp,
      user_agent: view.userAgent,
      request_sha256: seen.request_sha256,
      response_sha256: seen.response_sha256,
    },
    sha256,
    head.salt,
  );
  const inserted = await trx
    .insertInto("prompt_views")
    .values({ ...next.row, viewed_at: view.viewedAt })
    .executeTakeFirst();
  expectRows(inserted.numInsertedOrUpdatedRows, 1);
  await updateOne(
    trx
      .updateTable("prompt_view_heads")
      .set({ seq: next.head.seq, hash: next.head.hash })
      .where("workspace_id", "=", workspaceId),
  );
}

/** Converts a stored row to the form in which it was hashed. */
export function toLedgerRow(row: StoredView): LedgerRow {
  const { erased_at: erasedAt, ...fields } = row;
  return {
    ...fields,
    seq: Number(row.seq),
    viewed_at: formatInstant(row.viewed_at),
    is_erased: erasedAt !== null,
  };
}

/** A row of `prompt_views` as the adapters read it. */
export type StoredView = Omit<LedgerRow, "seq" | "viewed_at" | "is_erased"> & {
  readonly seq: string;
  readonly viewed_at: Millis;
  readonly erased_at: Millis | null;
};

/** Reads the views after `afterSeq` in the chain, in order; from the first one for null. */
export async function readViews(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  afterSeq: number | null,
  limit: number,
): Promise<readonly LedgerRow[]> {
  const rows = await trx
    .selectFrom("prompt_views")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .$if(afterSeq !== null, (query) => query.where("seq", ">", String(afterSeq)))
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map(toLedgerRow);
}
