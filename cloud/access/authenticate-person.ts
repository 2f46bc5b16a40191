import type { Context } from "hono";
import type { SessionProof } from "../../core/ports/accounts.ts";
import { type ProblemCode, problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { type AuthenticatedKey, findKey, saveKeyUse } from "../store/keys.ts";
import type { Actor } from "./actor.ts";
import { bearerToken } from "./bearer-token.ts";
import { isCrossOriginFetch, isOwnOrigin } from "./own-origin.ts";
import { hashToken, workspaceOfToken } from "./token.ts";

type Identified =
  | {
      readonly ok: true;
      readonly actor: Actor;
      /** The key under which the rate limiter counts the request. */
      readonly rateLimitKey: string;
      readonly byCookie: boolean;
      /** Why a valid key cannot be used; answered after the rate limit. */
      readonly outOfService: ProblemCode | null;
    }
  | { readonly ok: false; readonly code: ProblemCode };

/**
 * Authenticates the person who makes a request, by session or, unless `sessionOnly`, by an admin key bound to them. Checks in
 * this order: 401 (not authenticated), 403 (scope), 429, 403 (key out of service), 403 (cookie sent by another site's page).
 * If there is an `Authorization` header, cookies are ignored.
 */
export async function authenticatePerson(
  parts: CloudParts,
  context: Context<CloudEnv>,
  { sessionOnly }: { readonly sessionOnly: boolean },
): Promise<OrRefusal<Actor>> {
  const found = await identify(parts, context, sessionOnly);
  if (!found.ok) return { ok: false, refusal: problem(found.code) };
  const retryAfterSeconds = await parts.limits.perUser.take(found.rateLimitKey, parts.clock.now());
  if (retryAfterSeconds !== null)
    return { ok: false, refusal: problem("rate_limited", { retryAfterSeconds }) };
  if (found.outOfService !== null) return { ok: false, refusal: problem(found.outOfService) };
  // Of these credentials, browsers send only cookies with another site's requests.
  if (found.byCookie && isCrossSite(parts, context)) return { ok: false, refusal: problem("origin_refused") };
  return { ok: true, value: found.actor };
}

/**
 * Whether another site's page made the request. Decision: this refuses reads too. The other page could not see the answer,
 * but reading a teammate's body writes a row to the ledger, with a reason that a link could choose.
 */
function isCrossSite({ config }: CloudParts, context: Context<CloudEnv>): boolean {
  if (isCrossOriginFetch(context.req.header("sec-fetch-site"))) return true;
  const changes = !["GET", "HEAD", "OPTIONS"].includes(context.req.method);
  return changes && !isOwnOrigin(context.req.header("origin"), config.baseUrl);
}

async function identify(
  parts: CloudParts,
  context: Context<CloudEnv>,
  sessionOnly: boolean,
): Promise<Identified> {
  const hasAuthorization = context.req.header("authorization") !== undefined;
  const token = bearerToken(context);
  if (token?.startsWith("mtr_") === true) return await identifyKey(parts, token, sessionOnly);
  const proof = proofOf(hasAuthorization, token, context.req.header("cookie"));
  const person = proof === null ? null : await parts.accounts.authenticate(proof);
  if (person === null) return { ok: false, code: "unauthorised" };
  const { userId, name, email } = person;
  const actor: Actor = { userId, name, email, via: "session", keyWorkspaceId: null };
  return { ok: true, actor, rateLimitKey: userId, byCookie: !hasAuthorization, outOfService: null };
}

function proofOf(
  hasAuthorization: boolean,
  token: string | null,
  cookie: string | undefined,
): SessionProof | null {
  if (hasAuthorization) return token === null ? null : { kind: "bearer", token };
  return cookie === undefined ? null : { kind: "cookie", cookie };
}

async function identifyKey(parts: CloudParts, token: string, sessionOnly: boolean): Promise<Identified> {
  const workspaceId = workspaceOfToken(token);
  const key =
    workspaceId === null ? null : await findKey(parts.db, workspaceId, hashToken(token, parts.sha256));
  if (key === null) return { ok: false, code: "unauthorised" };
  if (key.scope !== "admin" || sessionOnly) return { ok: false, code: "scope_insufficient" };
  const outOfService = reasonOutOfService(key);
  if (outOfService === null) await saveKeyUse(parts.db, key, parts.clock.now());
  const person = (await parts.accounts.getPeople([key.userId])).get(key.userId);
  const actor: Actor = {
    userId: key.userId,
    name: person?.name ?? "",
    email: person?.email ?? null,
    via: "key",
    keyWorkspaceId: key.workspaceId,
  };
  // A key has its own rate limit, so that a script does not lock its owner out of the dashboard.
  return { ok: true, actor, rateLimitKey: key.keyId, byCookie: false, outOfService };
}

function reasonOutOfService(key: AuthenticatedKey): ProblemCode | null {
  if (key.workspace.deletedAt !== null) return "workspace_deleted";
  return key.isMember ? null : "not_a_member";
}
