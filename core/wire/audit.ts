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
