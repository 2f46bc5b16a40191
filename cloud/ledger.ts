import type { Sha256 } from "../core/hash.ts";
import { type LedgerHead, type LedgerVerdict, verifyLedger } from "../core/ledger/mod.ts";
import type { CloudDatabase } from "./store/open-database.ts";
import { readHead, toLedgerRow } from "./store/prompt-view-ledger.ts";
import { inScope } from "./store/transaction.ts";

/** The end of a workspace's ledger: what is to be kept outside the database, for the next verification. */
export async function readLedgerHead(db: CloudDatabase, workspaceId: string): Promise<LedgerHead> {
  return await inScope(db, { workspaceId }, (trx) => readHead(trx, workspaceId));
}

/**
 * Verifies a workspace's ledger of prompt views against a head that was saved outside, if any, and against the one that
 * the database keeps beside the rows: rows cut off by somebody who left that one alone are found without a saved head.
 */
export async function verifyPromptViewLedger(
  db: CloudDatabase,
  workspaceId: string,
  savedHead: LedgerHead | null,
  sha256: Sha256,
): Promise<LedgerVerdict> {
  const { head, rows } = await inScope(db, { workspaceId }, async (trx) => ({
    head: await readHead(trx, workspaceId),
    rows: await trx
      .selectFrom("prompt_views")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .orderBy("seq")
      .execute(),
  }));
  const chain = rows.map(toLedgerRow);
  const verdict = verifyLedger(workspaceId, chain, savedHead, sha256);
  if (!verdict.ok || (verdict.head.seq === head.seq && verdict.head.hash === head.hash)) return verdict;
  const beside = verifyLedger(workspaceId, chain, head, sha256);
  // Rows that stand behind the head were not appended by us.
  return beside.ok ? { ok: false, fault: "out_of_sequence", seq: head.seq + 1 } : beside;
}
