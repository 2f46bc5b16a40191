import type { Transaction } from "kysely";
import { emptyHead, type LedgerHead } from "../../core/privacy/ledger/chain.ts";
import type { CloudSchema } from "./schema.ts";

/** The tables that hold the head of a workspace's hash chain. */
export type ChainHeadTable = "prompt_view_heads" | "audit_event_heads" | "cost_seal_heads";

/** Reads the stored head of a workspace's chain; an empty one if nothing was appended yet. */
export async function readChainHead(
  trx: Transaction<CloudSchema>,
  table: ChainHeadTable,
  workspaceId: string,
): Promise<LedgerHead> {
  const head = await trx
    .selectFrom(table)
    .select(["seq", "hash"])
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  if (head === undefined) return emptyHead(workspaceId);
  return { workspace_id: workspaceId, seq: Number(head.seq), hash: head.hash };
}
