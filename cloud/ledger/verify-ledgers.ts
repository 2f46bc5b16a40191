import { checkAuditEvent } from "../../core/privacy/ledger/audit-event-chain.ts";
import { CHAIN_NAMES, type ChainName, type LedgerHead } from "../../core/privacy/ledger/chain.ts";
import { checkPromptView, type LedgerVerdict } from "../../core/privacy/ledger/verify-ledger.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { readChainedEvents } from "../store/audit-events.ts";
import { readChainHead } from "../store/chain-heads.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import { readViews } from "../store/prompt-view-ledger.ts";
import { countOutsideChain, verifyChain } from "../store/reads/verify-chain.ts";
import { verifyCosts } from "../store/reads/verify-costs.ts";
import { inSnapshot } from "../store/transaction.ts";

/** The head of one chain, as saved outside the database. */
export interface SavedHead {
  readonly seq: number;
  readonly hash: string;
  /** Rows that are not part of the chain, because they are older than it. Null in heads that a machine saved. */
  readonly outside_chain: number | null;
}

/** The heads that are saved outside the database between two verifications. */
export type WorkspaceHeads = { readonly workspace_id: string } & {
  readonly [Name in ChainName]: SavedHead | null;
};

/** The verdict on one chain, and the number of rows that are not part of it. */
export type ChainVerdict = LedgerVerdict & { readonly outsideChain: number };

/** The verdict on all chains of a workspace. */
export type WorkspaceVerdict = { readonly ok: boolean } & { readonly [Name in ChainName]: ChainVerdict };

/**
 * Verifies a workspace's ledger of prompt views against a head that was saved outside the database, if any, and against the
 * stored head. Without a saved head, this finds rows that were cut off only if the stored head was left unchanged.
 */
export async function verifyPromptViewLedger(
  db: CloudDatabase,
  workspaceId: string,
  savedHead: LedgerHead | null,
  sha256: Sha256,
): Promise<LedgerVerdict> {
  return await inSnapshot(db, workspaceId, async (trx) =>
    verifyChain({
      savedHead,
      storedHead: await readChainHead(trx, "prompt_view_heads", workspaceId),
      readAfter: (seq, limit) => readViews(trx, workspaceId, seq, limit),
      check: (row) => checkPromptView(row, sha256),
    }),
  );
}

/**
 * Verifies all chains of a workspace, each against its head that was saved outside the database, if any, and against its
 * stored head. Rows are read in pages, so memory stays constant, and writers do not wait.
 */
export async function verifyWorkspaceLedgers(
  db: CloudDatabase,
  workspaceId: string,
  saved: WorkspaceHeads | null,
  sha256: Sha256,
): Promise<WorkspaceVerdict> {
  const headOf = (name: ChainName): LedgerHead | null => {
    const head = saved?.[name] ?? null;
    return head === null ? null : { workspace_id: workspaceId, seq: head.seq, hash: head.hash };
  };
  const views = await verifyPromptViewLedger(db, workspaceId, headOf("prompt_views"), sha256);
  const events = await inSnapshot(db, workspaceId, async (trx): Promise<ChainVerdict> => {
    const outsideChain = await countOutsideChain(trx, workspaceId, "audit_events");
    const verdict = await verifyChain({
      savedHead: headOf("audit_events"),
      storedHead: await readChainHead(trx, "audit_event_heads", workspaceId),
      readAfter: (seq, limit) => readChainedEvents(trx, workspaceId, seq, limit),
      check: (row) => checkAuditEvent(row, sha256),
    });
    return { ...addRowsOutsideChain(verdict, outsideChain, saved?.audit_events ?? null), outsideChain };
  });
  const { verdict, outsideChain } = await verifyCosts(db, workspaceId, headOf("costs"), sha256);
  const costs = { ...addRowsOutsideChain(verdict, outsideChain, saved?.costs ?? null), outsideChain };
  return {
    ok: views.ok && events.ok && costs.ok,
    prompt_views: { ...views, outsideChain: 0 },
    audit_events: events,
    costs,
  };
}

/** Returns the heads to save after a verification; null if a chain has a fault. */
export function headsOf(workspaceId: string, verdict: WorkspaceVerdict): WorkspaceHeads | null {
  const heads: Partial<Record<ChainName, SavedHead>> = {};
  for (const name of CHAIN_NAMES) {
    const chain = verdict[name];
    if (!chain.ok) return null;
    heads[name] = { seq: chain.head.seq, hash: chain.head.hash, outside_chain: chain.outsideChain };
  }
  return { workspace_id: workspaceId, ...(heads as Record<ChainName, SavedHead>) };
}

/**
 * Adds a fault if there are more rows outside the chain than before. Their number can only decrease, so a new one was
 * forged or written by an older version of the program.
 */
function addRowsOutsideChain(
  verdict: LedgerVerdict,
  outside: number,
  saved: SavedHead | null,
): LedgerVerdict {
  if (!verdict.ok || saved === null || outside <= (saved.outside_chain ?? outside)) return verdict;
  return { ok: false, fault: "outside_chain", seq: 0 };
}
