import * as v from "valibot";
import { identifier, maybe } from "./fields.ts";

/**
 * The response of `GET /v1/daemon/whoami`. Source: docs/specification.md#reading.
 *
 * Decision: fields that a daemon only displays (plan, scope, times) accept any text, so that a plan introduced by a newer
 * cloud does not make a valid key look invalid.
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
  /** The author of the machine's requests and prompts. */
  user: maybe(v.object({ id: identifier, name: v.string() })),
  key: v.object({ prefix: v.string(), scope: v.string(), created_at: v.string() }),
  server_time: v.string(),
});

/** The workspace, machine and user that a key belongs to. */
export type Whoami = v.InferOutput<typeof whoamiSchema>;
