import * as v from "valibot";
import { countCharacters, isStorableText } from "./characters.ts";
import { count, identifier, instant, maybe, name, page, sha256Hex, text, uuid } from "./fields.ts";

/** Most characters of a prompt view's reason. Source: contract, "Limits": 1 to 2000. */
export const PROMPT_VIEW_REASON_MAX = 2000;

/** Why someone looks: 1 to 2000 characters (code points) after trimming. */
export const promptViewReasonSchema = v.pipe(
  v.string(),
  v.trim(),
  v.check((reason) => {
    const characters = countCharacters(reason);
    return characters >= 1 && characters <= PROMPT_VIEW_REASON_MAX;
  }, `must have 1 to ${PROMPT_VIEW_REASON_MAX} characters`),
  v.check(isStorableText, "must hold no U+0000 and no half of a surrogate pair"),
);

/**
 * `POST /v1/audit/prompt-views`. Viewer, time, address and user agent are what the caller says; the server checks them
 * against the session and puts its own in their place, so they may be absent. Source: decisions, "Bodies".
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

/** A view that is to be written. */
export type PromptViewRequest = v.InferOutput<typeof promptViewRequestSchema>;

/** 201: the id is valid once, for five minutes, for that viewer and request. */
export const promptViewAnswerSchema = v.object({ view_id: identifier, viewed_at: instant });

/** The view as written. */
export type PromptViewAnswer = v.InferOutput<typeof promptViewAnswerSchema>;

/** One row of the ledger with its place in the chain. Source: contract, "Prompt-view ledger row"; `core/ledger`. */
export const promptViewSchema = v.object({
  workspace_id: identifier,
  /** 1 for the workspace's first. */
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
  prev_hash: sha256Hex,
  hash: sha256Hex,
});

/** `GET …/audit/prompt-views`, newest first. */
export const promptViewsSchema = v.object({
  clamped_from: maybe(instant),
  ...page(promptViewSchema).entries,
});

/** A page of the ledger. */
export type PromptViews = v.InferOutput<typeof promptViewsSchema>;

/** `GET …/audit/events`, newest first. No worker acts on `retain_until`. Source: contract, "Events". */
export const auditEventsSchema = v.object({
  clamped_from: maybe(instant),
  ...page(
    v.object({
      event_id: identifier,
      at: instant,
      /** A stable word, such as `settings_changed`. */
      kind: name(64),
      actor_user_id: maybe(identifier),
      /** What changed, by field; never a body or a secret. */
      details: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
      retain_until: instant,
    }),
  ).entries,
});

/** A page of audit events. */
export type AuditEvents = v.InferOutput<typeof auditEventsSchema>;
