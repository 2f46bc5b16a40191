import * as v from "valibot";
import { countCharacters, isStorableText } from "./characters.ts";
import { count, identifier, instant, maybe, name, page, sha256Hex, text, uuid } from "./fields.ts";

/** Most characters of a prompt view's reason. Source: docs/specification.md#limits: 1 to 2000. */
export const PROMPT_VIEW_REASON_MAX = 2000;

/** The reason for a prompt view: 1 to 2000 characters (code points) after trimming. */
export const promptViewReasonSchema = v.pipe(
  v.string(),
  v.trim(),
  v.check((reason) => {
    const characters = countCharacters(reason);
    return characters >= 1 && characters <= PROMPT_VIEW_REASON_MAX;
  }, `must have 1 to ${PROMPT_VIEW_REASON_MAX} characters`),
  v.check(isStorableText, "must not contain U+0000 or an unpaired surrogate"),
);

/**
 * The request of `POST /v1/audit/prompt-views`. Viewer, time, address and user agent are optional: the server checks the
 * caller's values against the session and stores its own. Source: docs/specification.md#bodies.
 */
export const promptViewRequestSchema = v.object({
  workspace_id: identifier,
  request_id: uuid,
  viewer_user_id: maybe(identifier),
  subject_user_id: identifier,
  consent_grant_id: maybe(identifier),
  reason: promptViewReasonSchema,
  viewed_at: maybe(instant),
  client_ip: maybe(text(64)),
  user_agent: maybe(v.string()),
});

/** The 201 response. The viewer can use `view_id` once, within five minutes, for that request. */
export const promptViewResponseSchema = v.object({ view_id: identifier, viewed_at: instant });

/** One ledger row and its position in the hash chain. Source: docs/specification.md#prompt-view-ledger; `core/privacy/ledger`. */
export const promptViewSchema = v.object({
  workspace_id: identifier,
  /** Starts at 1 in each workspace. */
  seq: count,
  view_id: identifier,
  request_id: uuid,
  viewer_user_id: identifier,
  subject_user_id: identifier,
  consent_grant_id: maybe(identifier),
  reason: v.string(),
  viewed_at: instant,
  client_ip: maybe(v.string()),
  user_agent: maybe(v.string()),
  /** SHA-256 of each side that the viewer saw; `null` if the side was absent or the row predates body versions. */
  request_sha256: maybe(sha256Hex),
  response_sha256: maybe(sha256Hex),
  prev_hash: sha256Hex,
  hash: sha256Hex,
  /** Let a copy of the rows be verified on its own; absent in rows older than separate content hashes. */
  content_salt: v.nullish(text(64)),
  content_hash: v.nullish(sha256Hex),
  /** Whether the purge erased the texts. */
  is_erased: v.optional(v.boolean()),
});

/** The response of `GET …/audit/prompt-views`, newest first. */
export const promptViewsSchema = v.object({
  clamped_from: maybe(instant),
  ...page(promptViewSchema).entries,
});

/** The response of `GET …/audit/events`, newest first. No worker acts on `retain_until`. Source: docs/specification.md#log-events. */
export const auditEventsSchema = v.object({
  clamped_from: maybe(instant),
  ...page(
    v.object({
      event_id: identifier,
      at: instant,
      /** A stable code, such as `settings_changed`. */
      kind: name(64),
      actor_user_id: maybe(identifier),
      /** The changed fields and their values; never a body or a secret. */
      details: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
      retain_until: instant,
    }),
  ).entries,
});

/** What is wrong with a chain. Source: docs/specification.md#prompt-view-ledger; `core/privacy/ledger`. */
const ledgerFault = v.picklist([
  "out_of_sequence",
  "link_broken",
  "row_changed",
  "foreign_row",
  "tail_cut",
  "history_rewritten",
  "outside_chain",
  "cost_changed",
  "request_missing",
  "totals_differ",
]);

/** The verdict on one chain: its rows and its head, or the first fault. */
const chainVerdict = v.variant("ok", [
  v.object({
    ok: v.literal(true),
    /** The number of rows, which is the place of the last one. */
    rows: count,
    head: sha256Hex,
    /** Rows whose texts were erased. */
    erased_rows: count,
    /** Rows that are older than the chain and not part of it. */
    outside_chain: count,
  }),
  v.object({
    ok: v.literal(false),
    fault: ledgerFault,
    /** The first place that fails; 0 for rows outside the chain and for totals. */
    seq: count,
    detail: maybe(v.string()),
  }),
]);

/** The verdict on one chain. */
export type ChainVerification = v.InferOutput<typeof chainVerdict>;

/** The response of `GET …/audit/verification`. */
export const ledgerVerificationSchema = v.object({
  /** Whether no chain has a fault. */
  ok: v.boolean(),
  verified_at: instant,
  prompt_views: chainVerdict,
  audit_events: chainVerdict,
  costs: chainVerdict,
});

/** The verification of a workspace's hash chains. */
export type LedgerVerification = v.InferOutput<typeof ledgerVerificationSchema>;
