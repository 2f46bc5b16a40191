import type { Context } from "hono";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { type AuthenticatedKey, findKey, saveKeyUse } from "../store/keys.ts";
import type { KeyScope } from "../store/schema.ts";
import { bearerToken } from "./bearer-token.ts";
import { hashToken, workspaceOfToken } from "./token.ts";

/** The scopes that a machine's routes accept. Source: docs/specification.md#body-endpoint. */
const SCOPES: readonly KeyScope[] = ["sync", "admin"];

/**
 * Authenticates a request by its sync or admin key. Checks in this order: 401 (no valid token), 403 (scope), 429, 403 (workspace deleted,
 * member removed, machine blocked); the last only if the key must be `inService`. The body is not read before.
 */
export async function authenticateKey(
  parts: CloudParts,
  context: Context<CloudEnv>,
  { inService }: { readonly inService: boolean },
): Promise<OrRefusal<AuthenticatedKey>> {
  const unauthorised = () => ({ ok: false, refusal: problem("unauthorised") }) as const;
  const token = bearerToken(context);
  const workspaceId = token === null ? null : workspaceOfToken(token);
  if (token === null || workspaceId === null) return unauthorised();
  const key = await findKey(parts.db, workspaceId, hashToken(token, parts.sha256));
  if (key === null) return unauthorised();
  parts.knownTokens.add(token);
  if (!SCOPES.includes(key.scope)) return { ok: false, refusal: problem("scope_insufficient") };
  const retryAfterSeconds = await parts.limits.perKey.take(key.keyId, parts.clock.now());
  if (retryAfterSeconds !== null)
    return { ok: false, refusal: problem("rate_limited", { retryAfterSeconds }) };
  if (inService) {
    if (key.workspace.deletedAt !== null) return { ok: false, refusal: problem("workspace_deleted") };
    if (!key.isMember) return { ok: false, refusal: problem("not_a_member") };
    if (key.machine?.isBlocked === true) return { ok: false, refusal: problem("machine_blocked") };
  }
  await saveKeyUse(parts.db, key, parts.clock.now());
  return { ok: true, value: key };
}
