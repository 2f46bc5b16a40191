import type { Sha256 } from "../hash.ts";
import { hashText } from "../hash-text.ts";

/** What one view of a teammate's stored prompt is. Source: contract, "Prompt-view ledger row". */
export interface PromptView {
  readonly workspace_id: string;
  readonly view_id: string;
  readonly request_id: string;
  readonly viewer_user_id: string;
  readonly subject_user_id: string;
  readonly consent_grant_id: string | null;
  readonly reason: string;
  /** ISO 8601, UTC, milliseconds: the text is hashed as it stands. */
  readonly viewed_at: string;
  readonly client_ip: string | null;
  readonly user_agent: string | null;
}

/** A row of the ledger with its place in the workspace's chain. */
export interface LedgerRow extends PromptView {
  /** 1 for the workspace's first row, and one more for each. */
  readonly seq: number;
  /** The hash of the row before; `GENESIS_HASH` for the first. */
  readonly prev_hash: string;
  readonly hash: string;
}

/** The end of a chain: all that has to be kept elsewhere to find a cut tail. */
export interface LedgerHead {
  readonly workspace_id: string;
  /** 0 for a workspace without rows. */
  readonly seq: number;
  readonly hash: string;
}

/** What the first row's `prev_hash` is. */
export const GENESIS_HASH = "0".repeat(64);

/** Marks the form of what is hashed, so that another form can never be taken for it. */
const FORM = "meter-prompt-view-1";

/** The head of a workspace that has no rows. */
export function emptyHead(workspaceId: string): LedgerHead {
  return { workspace_id: workspaceId, seq: 0, hash: GENESIS_HASH };
}

/**
 * Links a view to the head. The caller holds the workspace's head row from reading it until both are written, so that no
 * two rows follow the same one. A view of another workspace is a RangeError.
 */
export function appendPromptView(
  head: LedgerHead,
  view: PromptView,
  sha256: Sha256,
): { readonly row: LedgerRow; readonly head: LedgerHead } {
  if (view.workspace_id !== head.workspace_id) {
    throw new RangeError(`the head is of workspace ${head.workspace_id}: ${view.workspace_id}`);
  }
  const seq = head.seq + 1;
  const hash = hashRow(view, seq, head.hash, sha256);
  return {
    row: { ...view, seq, prev_hash: head.hash, hash },
    head: { workspace_id: head.workspace_id, seq, hash },
  };
}

/**
 * The hash of a row: over the JSON array of form, place, link and every field in a fixed order. JSON keeps apart what is
 * text, number and `null`, and where one field ends and the next begins.
 */
export function hashRow(view: PromptView, seq: number, prevHash: string, sha256: Sha256): string {
  const fields = [
    FORM,
    view.workspace_id,
    seq,
    prevHash,
    view.view_id,
    view.request_id,
    view.viewer_user_id,
    view.subject_user_id,
    view.consent_grant_id,
    view.reason,
    view.viewed_at,
    view.client_ip,
    view.user_agent,
  ];
  return hashText(JSON.stringify(fields), sha256);
}
