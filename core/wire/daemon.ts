import * as v from "valibot";
import { identifier, maybe } from "./fields.ts";

/**
 * `GET /v1/daemon/whoami`. Source: decisions, "Reading".
 *
 * Decision: what a daemon only shows (plan, scope, times) is any text to it, so that a plan of a newer cloud does not
 * make a valid key look invalid.
 */
export const whoamiSchema = v.object({
  workspace: v.object({
    id: identifier,
    name: v.string(),
    plan: v.string(),
    store_prompt_content: v.boolean(),
  }),
  /** `null` for an `admin` key, which belongs to a person. */
  machine: maybe(v.object({ id: identifier, hostname: v.string() })),
  key: v.object({ prefix: v.string(), scope: v.string(), created_at: v.string() }),
  server_time: v.string(),
});

/** Whom a key stands for. */
export type Whoami = v.InferOutput<typeof whoamiSchema>;
