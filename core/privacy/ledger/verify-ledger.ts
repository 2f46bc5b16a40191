import type { Sha256 } from "../../values/hash.ts";
import { type ChainRow, emptyHead, type LedgerHead } from "./chain.ts";
import { hashContent, hashRow, isBlank, type LedgerRow } from "./prompt-view-chain.ts";

/** What is wrong at the first place that fails verification. */
export type LedgerFault =
  /** A row's place does not follow the previous row's: a row was deleted, inserted twice or moved. */
  | "out_of_sequence"
  /** A row does not link to the previous row: one of the two was replaced. */
  | "link_broken"
  /** A row's fields differ from those that were hashed. */
  | "row_changed"
  /** A row belongs to another workspace. */
  | "foreign_row"
  /** The saved head's row is missing: rows were cut off the end. */
  | "tail_cut"
  /** The saved head's row has another hash: the chain was recomputed. */
  | "history_rewritten"
  /** More rows are outside the chain than when the head was saved. */
  | "outside_chain"
  /** A request differs from its last seal. */
  | "cost_changed"
  /** A sealed request was deleted. */
  | "request_missing"
  /** An hourly or daily total differs from the sum of its requests. */
  | "totals_differ";

/** The result of a verification. */
export type LedgerVerdict =
  | {
      readonly ok: true;
      /** Save it outside the database for the next verification. */
      readonly head: LedgerHead;
      /** Rows up to this one are unchanged since the head was saved; 0 without a saved head. */
      readonly provenThroughSeq: number;
      /** Rows whose texts were erased. In the first two formats, only the place of such a row is verified. */
      readonly erasedRows: number;
      /** What this verification could not detect, for people; `null` if the saved head is the last row's. */
      readonly caveat: string | null;
    }
  | {
      readonly ok: false;
      readonly fault: LedgerFault;
      /** The first place that fails; 0 for rows outside the chain and for totals. */
      readonly seq: number;
      /** The request or total that differs, for people. */
      readonly detail?: string;
    };

/** The result of comparing a row's fields with its hashes. */
export type RowIntegrity = "intact" | "erased" | "changed";

/** A verification in progress: start it, pass it each row in order, and end it. It holds no rows. */
interface LedgerVerification {
  /** The head of the rows so far. */
  readonly head: LedgerHead;
  readonly savedHead: LedgerHead | null;
  readonly erasedRows: number;
  /** The first fault. Later rows do not change it. */
  readonly broken: Extract<LedgerVerdict, { ok: false }> | null;
}

/** Starts the verification of a workspace's chain. Throws a RangeError for a saved head of another workspace. */
export function startVerification(workspaceId: string, savedHead: LedgerHead | null): LedgerVerification {
  if (savedHead !== null && savedHead.workspace_id !== workspaceId) {
    throw new RangeError(`the saved head is of workspace ${savedHead.workspace_id}: ${workspaceId}`);
  }
  return { head: emptyHead(workspaceId), savedHead, erasedRows: 0, broken: null };
}

/** Verifies the next row, in stored order. */
export function verifyRow(
  state: LedgerVerification,
  row: ChainRow,
  content: RowIntegrity,
): LedgerVerification {
  if (state.broken !== null) return state;
  const seq = state.head.seq + 1;
  const fault = findFault(row, state, content);
  if (fault !== null) return { ...state, broken: { ok: false, fault, seq } };
  return {
    ...state,
    head: { workspace_id: row.workspace_id, seq, hash: row.hash },
    erasedRows: state.erasedRows + (content === "erased" ? 1 : 0),
  };
}

/** Ends a verification after the last row. */
export function endVerification({ head, savedHead, erasedRows, broken }: LedgerVerification): LedgerVerdict {
  if (broken !== null) return broken;
  if (savedHead !== null && savedHead.seq > head.seq) {
    return { ok: false, fault: "tail_cut", seq: head.seq + 1 };
  }
  const provenThroughSeq = savedHead?.seq ?? 0;
  return { ok: true, head, provenThroughSeq, erasedRows, caveat: describeCaveat(head, savedHead) };
}

/**
 * Verifies a workspace's ledger of prompt views: all rows in stored order, and the head that was saved outside the database,
 * if any.
 *
 * The rows alone reveal every edit, deletion, insertion and reordering, unless the chain was recomputed or rows were cut off
 * the end. Only a saved head reveals those two, for the rows up to it.
 */
export function verifyLedger(
  workspaceId: string,
  rows: readonly LedgerRow[],
  savedHead: LedgerHead | null,
  sha256: Sha256,
): LedgerVerdict {
  let state = startVerification(workspaceId, savedHead);
  for (const row of rows) state = verifyRow(state, row, checkPromptView(row, sha256));
  return endVerification(state);
}

/** Checks a view's fields against its hashes. */
export function checkPromptView(row: LedgerRow, sha256: Sha256): RowIntegrity {
  const { content_hash: contentHash = null, content_salt: salt = null, is_erased: isErased = false } = row;
  // An erased row must be blank. Otherwise, marking a row as erased would hide any change.
  if (isErased && !(isBlank(row) && salt === null)) return "changed";
  // The first two formats hashed the texts themselves.
  if (contentHash === null && isErased) return "erased";
  if (row.hash !== hashRow(row, row.seq, row.prev_hash, sha256, contentHash)) return "changed";
  if (isErased) return "erased";
  if (contentHash === null) return "intact";
  return salt !== null && hashContent(row, salt, sha256) === contentHash ? "intact" : "changed";
}

function findFault(
  row: ChainRow,
  { head, savedHead }: LedgerVerification,
  content: RowIntegrity,
): LedgerFault | null {
  if (row.workspace_id !== head.workspace_id) return "foreign_row";
  if (row.seq !== head.seq + 1) return "out_of_sequence";
  if (row.prev_hash !== head.hash) return "link_broken";
  if (content === "changed") return "row_changed";
  return savedHead?.seq === row.seq && savedHead.hash !== row.hash ? "history_rewritten" : null;
}

function describeCaveat(head: LedgerHead, savedHead: LedgerHead | null): string | null {
  if (savedHead === null) {
    return "without a saved head, rows cut off the end and a recomputed chain cannot be detected";
  }
  if (savedHead.seq === head.seq) return null;
  return `the saved head ends at row ${savedHead.seq}: rows cut off after it and a recomputed chain after it cannot be detected`;
}
