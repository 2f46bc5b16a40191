import type { MiddlewareHandler } from "hono";
import { bearerToken } from "./bearer-token.ts";
import { problem } from "./errors.ts";
import type { CloudEnv, CloudParts } from "./ports.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { findKey } from "./store/keys.ts";
import type { KeyScope } from "./store/schema.ts";
import { hashToken, workspaceOfToken } from "./sync-token.ts";

/** What a route asks of a key, besides being valid. */
export interface KeyDemands {
  readonly scopes: readonly KeyScope[];
  /** Whether a key is turned away whose workspace, machine or owner is out of service. Default: true. */
  readonly inService?: boolean;
}

/**
 * Lets a request through with a valid key that suits, and puts it in the context. In this order: 401 (no valid token),
 * 403 (scope), 429, 403 (workspace deleted, member removed, machine blocked). Nothing of the body is read before.
 */
export function requireKey(
  parts: CloudParts,
  limiter: RateLimiter,
  demands: KeyDemands,
): MiddlewareHandler<CloudEnv> {
  const { scopes, inService = true } = demands;
  return async (context, next) => {
    const token = bearerToken(context);
    const workspaceId = token === null ? null : workspaceOfToken(token);
    if (token === null || workspaceId === null) return problem("unauthorised");
    const key = await findKey(parts.db, workspaceId, hashToken(token, parts.sha256));
    if (key === null) return problem("unauthorised");
    if (!scopes.includes(key.scope)) return problem("scope_insufficient");
    const retryAfterSeconds = limiter.take(key.keyId, parts.clock.now());
    if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
    if (inService) {
      if (key.workspace.deletedAt !== null) return problem("workspace_deleted");
      if (!key.isMember) return problem("not_a_member");
      if (key.machine?.isBlocked === true) return problem("machine_blocked");
    }
    context.set("key", key);
    return await next();
  };
}
