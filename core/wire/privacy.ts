import * as v from "valibot";
import { count, identifier, instant, maybe, uuid } from "./fields.ts";

/**
 * The response of `GET …/privacy`: what a workspace holds by person, and the erasures of prompts, the newest first. A member gets their
 * own.
 */
export const workspacePrivacySchema = v.object({
  /** Whether new prompts and answers are stored. */
  store_prompt_content: v.boolean(),
  data_retention_days: count,
  holdings: v.array(
    v.object({
      user_id: identifier,
      /** `null` if the account no longer exists. */
      name: maybe(v.string()),
      requests: count,
      /** Requests with a stored prompt or answer. */
      stored_prompts: count,
    }),
  ),
  erasures: v.array(
    v.object({
      id: uuid,
      /** The person whose prompts were erased; `null` for everyone's. */
      user_id: maybe(identifier),
      /** `null` for every project. */
      project: maybe(v.string()),
      /** The person who asked for it; `null` for the operator. */
      actor_user_id: maybe(identifier),
      /** Prompts that were sent or had arrived before this instant are erased. */
      before: instant,
      /** `null` while it runs. */
      finished_at: maybe(instant),
      /** The text of the certificate, whose SHA-256 the audit log has; `null` while the erasure runs. */
      certificate: maybe(v.string()),
    }),
  ),
});

/** What a workspace holds, and what was erased. */
export type WorkspacePrivacy = v.InferOutput<typeof workspacePrivacySchema>;
