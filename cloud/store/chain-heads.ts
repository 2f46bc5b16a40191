import type { Transaction } from "kysely";
import { type ChainName, emptyHead, type LedgerHead } from "../../core/privacy/ledger/chain.ts";
import type { StatedHeads } from "../../core/privacy/ledger/compare-heads.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

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

/** The tables of a chain: its head and its rows. */
const TABLES = {
  prompt_views: ["prompt_view_heads", "prompt_views"],
  audit_events: ["audit_event_heads", "audit_events"],
  costs: ["cost_seal_heads", "cost_seals"],
} as const satisfies Record<ChainName, readonly [ChainHeadTable, keyof CloudSchema]>;

/** Reads the heads of a workspace's chains, and the hash of the row at each place that is asked for. */
export async function readStatedHeads(
  db: CloudDatabase,
  workspaceId: string,
  places: { readonly [Name in ChainName]?: number | undefined },
): Promise<StatedHeads> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const read = async (name: ChainName) => {
      const [heads, rows] = TABLES[name];
      const { seq, hash } = await readChainHead(trx, heads, workspaceId);
      const asked = places[name];
      const row =
        asked === undefined
          ? undefined
          : await trx
              .selectFrom(rows)
              .select("hash")
              .where("workspace_id", "=", workspaceId)
              .where("seq", "=", String(asked))
              .executeTakeFirst();
      return { seq, hash, asked_hash: row?.hash ?? null };
    };
    return {
      prompt_views: await read("prompt_views"),
      audit_events: await read("audit_events"),
      costs: await read("costs"),
    };
  });
}
