/**
 * What may be stored, sent, shown and for how long.
 *
 * - `redaction/`: finds secrets and personal data in a body and replaces them. It takes linear time and fails closed: a text
 *   that could not be searched in full is not returned. `docs/redaction.md` lists the rules.
 * - `policy/`: which fields of a record leave the machine.
 * - `retention/`: how far back each endpoint answers. It clamps what queries show and deletes nothing.
 * - `plans/`: what a workspace's plan allows, in one table.
 * - `ledger/`: the hash chains of prompt views, audit events and costs.
 * - `consent/`, `deletion/`: the checkout consent; soft deletion and its purge date.
 *
 * ```ts
 * import { clampWindow, createRedact, isFieldSent } from "./mod.ts";
 *
 * const redact = createRedact();
 * const { text } = redact("mail ann@example.com") as { text: string };
 * console.log(text); // mail [redacted:email_address]
 *
 * const now = Date.UTC(2026, 10, 21);
 * const facts = { now, plan: "solo", dataRetentionDays: 365, auditLogRetentionDays: 365 } as const;
 * const twoWeeks = { from: Date.UTC(2026, 10, 7), to: now };
 * console.log(clampWindow("overview", twoWeeks, facts).ok); // true
 * console.log(clampWindow("traces", twoWeeks, facts).ok); // false
 *
 * const policy = { preset: "standard", fields: { source_workdir: false, path: true }, perProject: {} } as const;
 * console.log(isFieldSent("path", policy), isFieldSent("method", policy)); // true false
 * ```
 *
 * A ledger's rows each hold the hash of the one before, so that a stored copy of the last hash reveals a later change:
 *
 * ```ts
 * import { createHash } from "node:crypto";
 * import { appendPromptView, emptyHead, verifyLedger } from "./mod.ts";
 *
 * const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
 * const view = {
 *   workspace_id: "w1", view_id: "v1", request_id: "01994b8e-7c00-7000-8000-000000000000", viewer_user_id: "ann",
 *   subject_user_id: "ben", consent_grant_id: null, reason: "incident 12", viewed_at: "2026-11-21T10:00:00.000Z",
 *   client_ip: null, user_agent: null, request_sha256: null, response_sha256: null,
 * };
 * const { row, head } = appendPromptView(emptyHead("w1"), view, sha256);
 * console.log(verifyLedger("w1", [row], head, sha256).ok); // true
 * console.log(verifyLedger("w1", [{ ...row, reason: "" }], head, sha256).ok); // false
 * ```
 *
 * @module
 */
export { emptyHead, type LedgerHead } from "./ledger/chain.ts";
export { appendPromptView, type LedgerRow, type PromptView } from "./ledger/prompt-view-chain.ts";
export { type LedgerVerdict, verifyLedger } from "./ledger/verify-ledger.ts";
export {
  checkPlan,
  PLAN_TABLE,
  type PlanFeature,
  type PlanRights,
  type PlanVerdict,
} from "./plans/plan-table.ts";
export { type OutgoingRecord, toOutgoingRecord } from "./policy/outgoing-record.ts";
export {
  isFieldSent,
  sentFields,
  type UploadField,
  type UploadPolicy,
  type UploadPreset,
} from "./policy/upload-policy.ts";
export { createRedact, type Redact, type Redaction } from "./redaction/redact.ts";
export type { RedactionRule } from "./redaction/rule.ts";
export { type PeriodVerdict, readPeriod } from "./retention/read-period.ts";
export {
  clampWindow,
  type ReachFacts,
  type ReadEndpoint,
  type UtcPeriod,
  type WindowVerdict,
} from "./retention/windows.ts";
