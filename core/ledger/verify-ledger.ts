import type { Sha256 } from "../hash.ts";
import { emptyHead, hashRow, type LedgerHead, type LedgerRow } from "./prompt-view-chain.ts";

/** What does not hold, at the first place where it does not. */
export type LedgerFault =
  /** A row's place is not the one after the row before: deleted, inserted twice or moved. */
  | "out_of_sequence"
  /** A row does not follow the row before it: one of the two was replaced. */
  | "link_broken"
  /** A row's fields are not those that were hashed. */
  | "row_changed"
  /** A row of another workspace. */
  | "foreign_row"
  /** The saved head's row is gone: the tail was cut. */
  | "tail_cut"
  /** The saved head's row is another one: the chain was computed anew from some row up to it. */
  | "history_rewritten";

/** What the rows prove. */
export type LedgerVerdict =
  | {
      readonly ok: true;
      /** To be saved outside, for the next time. */
      readonly head: LedgerHead;
      /** Rows up to here stand as they stood when the head was saved; 0 without one. */
      readonly provenThroughSeq: number;
      /** What this run could not see, in words; `null` where the head is the last row's. */
      readonly caveat: string | null;
    }
  | {
      readonly ok: false;
      readonly fault: LedgerFault;
      /** The first place that does not hold. */
      readonly seq: number;
    };

/**
 * Verifies a workspace's whole ledger: rows in their stored order, the first one first, and the head that was saved
 * outside the database, if any.
 *
 * The rows alone show every edit, deletion, insertion and reordering by someone who did not compute the chain anew. A cut
 * tail leaves a chain that holds, and so does a chain computed anew: those two only the head shows, for the rows up to it.
 */
export function verifyLedger(
  workspaceId: string,
  rows: readonly LedgerRow[],
  savedHead: LedgerHead | null,
  sha256: Sha256,
): LedgerVerdict {
  let head = emptyHead(workspaceId);
  if (savedHead !== null && savedHead.workspace_id !== workspaceId) {
    throw new RangeError(`the saved head is of workspace ${savedHead.workspace_id}: ${workspaceId}`);
  }
  for (const row of rows) {
    const seq = head.seq + 1;
    const fault = faultOf(row, head, sha256);
    if (fault !== null) return { ok: false, fault, seq };
    head = { workspace_id: workspaceId, seq, hash: row.hash };
    if (savedHead?.seq === seq && savedHead.hash !== row.hash) {
      return { ok: false, fault: "history_rewritten", seq };
    }
  }
  if (savedHead !== null && savedHead.seq > head.seq) {
    return { ok: false, fault: "tail_cut", seq: head.seq + 1 };
  }
  return { ok: true, head, provenThroughSeq: savedHead?.seq ?? 0, caveat: caveatOf(head, savedHead) };
}

function faultOf(row: LedgerRow, head: LedgerHead, sha256: Sha256): LedgerFault | null {
  if (row.workspace_id !== head.workspace_id) return "foreign_row";
  if (row.seq !== head.seq + 1) return "out_of_sequence";
  if (row.prev_hash !== head.hash) return "link_broken";
  return row.hash === hashRow(row, row.seq, row.prev_hash, sha256) ? null : "row_changed";
}

function caveatOf(head: LedgerHead, savedHead: LedgerHead | null): string | null {
  if (savedHead === null) {
    return "without a saved head, rows cut off the end and a chain computed anew can't be seen";
  }
  if (savedHead.seq === head.seq) return null;
  return `the saved head ends at row ${savedHead.seq}: of later rows, a cut tail and a chain computed anew can't be seen`;
}
