/**
 * The ledger of views of teammates' prompts: append-only rows, each holding the hash of the one before, so that whoever
 * keeps a copy of the last hash can tell later whether anything was changed.
 *
 * ```ts
 * import { createHash } from "node:crypto";
 * import { appendPromptView, emptyHead, verifyLedger } from "./mod.ts";
 *
 * const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
 * const view = {
 *   workspace_id: "w1", view_id: "v1", request_id: "01994b8e-7c00-7000-8000-000000000000", viewer_user_id: "ann",
 *   subject_user_id: "ben", consent_grant_id: null, reason: "incident 12", viewed_at: "2026-11-21T10:00:00.000Z",
 *   client_ip: null, user_agent: null,
 * };
 * const { row, head } = appendPromptView(emptyHead("w1"), view, sha256);
 * console.log(verifyLedger("w1", [row], head, sha256).ok); // true
 * console.log(verifyLedger("w1", [{ ...row, reason: "" }], head, sha256)); // { ok: false, fault: "row_changed", seq: 1 }
 * console.log(verifyLedger("w1", [], head, sha256)); // { ok: false, fault: "tail_cut", seq: 1 }
 * ```
 *
 * @module
 */
export {
  appendPromptView,
  emptyHead,
  GENESIS_HASH,
  hashRow,
  type LedgerHead,
  type LedgerRow,
  type PromptView,
} from "./prompt-view-chain.ts";
export { type LedgerFault, type LedgerVerdict, verifyLedger } from "./verify-ledger.ts";
