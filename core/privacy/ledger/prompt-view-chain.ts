import type { Sha256 } from "../../values/hash.ts";
import { hashText } from "../../values/hash-text.ts";
import type { ChainRow, LedgerHead } from "./chain.ts";

/** One view of a teammate's stored prompt. Source: docs/specification.md#prompt-view-ledger. */
export interface PromptView {
  readonly workspace_id: string;
  readonly view_id: string;
  readonly request_id: string;
  readonly viewer_user_id: string;
  readonly subject_user_id: string;
  readonly consent_grant_id: string | null;
  readonly reason: string;
  /** ISO 8601, UTC, milliseconds. The text itself is hashed. */
  readonly viewed_at: string;
  readonly client_ip: string | null;
  readonly user_agent: string | null;
  /** SHA-256 of each side as shown, lower-case hex; null if there was none. */
  readonly request_sha256: string | null;
  readonly response_sha256: string | null;
}

/** A row of the ledger with its place in the workspace's chain. */
export interface LedgerRow extends PromptView, ChainRow {
  /** The salt of `content_hash`. Null or absent in the first two formats and after the texts were erased. */
  readonly content_salt?: string | null;
  /** The hash of the texts. It is kept when they are erased. Null or absent in the first two formats. */
  readonly content_hash?: string | null;
  /** Whether the texts were erased. */
  readonly is_erased?: boolean;
}

/** The third format hashes the texts separately, with a salt. They can be erased and the chain still verifies. */
const FORMAT_3 = "meter-prompt-view-3";
const CONTENT_FORMAT = "meter-prompt-view-content-1";

/** The name of the format is part of what is hashed. The second format adds the hashes of the bodies shown. */
const FORMAT_1 = "meter-prompt-view-1";
const FORMAT_2 = "meter-prompt-view-2";

/**
 * Appends a view to the chain. With an unguessable salt, the row's texts can be erased later. The caller must lock the
 * workspace's head row from reading it until both are written, so that no two rows follow the same one. Throws a RangeError
 * for a view of another workspace.
 */
export function appendPromptView(
  head: LedgerHead,
  view: PromptView,
  sha256: Sha256,
  salt: string | null = null,
): { readonly row: LedgerRow; readonly head: LedgerHead } {
  if (view.workspace_id !== head.workspace_id) {
    throw new RangeError(`the head is of workspace ${head.workspace_id}: ${view.workspace_id}`);
  }
  const seq = head.seq + 1;
  const contentHash = salt === null ? null : hashContent(view, salt, sha256);
  const hash = hashRow(view, seq, head.hash, sha256, contentHash);
  const content = salt === null ? {} : { content_salt: salt, content_hash: contentHash };
  return {
    row: { ...view, ...content, seq, prev_hash: head.hash, hash },
    head: { workspace_id: head.workspace_id, seq, hash },
  };
}

/**
 * Hashes a row: the JSON array of format, place, link and every field in a fixed order. JSON distinguishes text, numbers and
 * `null`, and delimits the fields. A row without body hashes has the first format, like all rows from before body hashes
 * were added.
 */
export function hashRow(
  view: PromptView,
  seq: number,
  prevHash: string,
  sha256: Sha256,
  contentHash: string | null = null,
): string {
  if (contentHash !== null) {
    const identity = [
      view.view_id,
      view.request_id,
      view.viewer_user_id,
      view.subject_user_id,
      view.viewed_at,
    ];
    const all = [FORMAT_3, view.workspace_id, seq, prevHash, ...identity, contentHash];
    return hashText(JSON.stringify(all), sha256);
  }
  const { request_sha256: request, response_sha256: response } = view;
  const hasHashes = request !== null || response !== null;
  const fields = [
    hasHashes ? FORMAT_2 : FORMAT_1,
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
    ...(hasHashes ? [request, response] : []),
  ];
  return hashText(JSON.stringify(fields), sha256);
}

/** Hashes the texts of a row and what would reveal them. The salt prevents guessing short texts from the hash. */
export function hashContent(view: PromptView, salt: string, sha256: Sha256): string {
  const { consent_grant_id, reason, client_ip, user_agent, request_sha256, response_sha256 } = view;
  const texts = [consent_grant_id, reason, client_ip, user_agent, request_sha256, response_sha256];
  return hashText(JSON.stringify([CONTENT_FORMAT, salt, ...texts]), sha256);
}

/** Whether a row has no texts left. */
export function isBlank(view: PromptView): boolean {
  const { consent_grant_id, client_ip, user_agent, request_sha256, response_sha256 } = view;
  const texts = [consent_grant_id, client_ip, user_agent, request_sha256, response_sha256];
  return view.reason === "" && texts.every((text) => text === null);
}
