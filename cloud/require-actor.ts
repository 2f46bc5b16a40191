import type { Context, MiddlewareHandler } from "hono";
import type { SessionProof } from "../core/ports/accounts.ts";
import type { Actor } from "./actor.ts";
import { bearerToken } from "./bearer-token.ts";
import { type ProblemCode, problem } from "./errors.ts";
import { isFromElsewhere, isOwnOrigin } from "./own-origin.ts";
import type { CloudEnv, CloudParts } from "./ports.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { type AuthenticatedKey, findKey } from "./store/keys.ts";
import { hashToken, workspaceOfToken } from "./sync-token.ts";

/** What a route asks of its caller, besides being somebody. */
export interface ActorDemands {
  /** A person who is there in person: an admin key does not do. Default: false. */
  readonly sessionOnly?: boolean;
}

type Identified =
  | {
      readonly ok: true;
      readonly actor: Actor;
      /** Whose account the request is counted on. */
      readonly asker: string;
      readonly byCookie: boolean;
      /** What is wrong with a valid key: told to those who have not asked too often. */
      readonly outOfService: ProblemCode | null;
    }
  | { readonly ok: false; readonly code: ProblemCode };

/**
 * Lets a request through that a person makes, and puts them in the context. In this order: 401 (nobody), 403 (scope),
 * 429, 403 (what is wrong with the key), 403 (a cookie that another site's page sent along). An `Authorization` header
 * decides alone: a cookie beside it is not read.
 */
export function requireActor(
  parts: CloudParts,
  limiter: RateLimiter,
  demands: ActorDemands = {},
): MiddlewareHandler<CloudEnv> {
  return async (context, next) => {
    const found = await identify(parts, context, demands);
    if (!found.ok) return problem(found.code);
    const retryAfterSeconds = limiter.take(found.asker, parts.clock.now());
    if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
    if (found.outOfService !== null) return problem(found.outOfService);
    // Only cookies are sent by a browser on another page's behalf.
    if (found.byCookie && isForeign(parts, context)) return problem("origin_refused");
    context.set("actor", found.actor);
    return await next();
  };
}

/**
 * Decision: a link on another site may not make a browser read the API either. Its page would not see the answer, but a read
 * of a teammate's body writes a line into the ledger, with a reason that the link could choose.
 */
function isForeign({ config }: CloudParts, context: Context<CloudEnv>): boolean {
  if (isFromElsewhere(context.req.header("sec-fetch-site"))) return true;
  const changes = !["GET", "HEAD", "OPTIONS"].includes(context.req.method);
  return changes && !isOwnOrigin(context.req.header("origin"), config.baseUrl);
}

async function identify(
  parts: CloudParts,
  context: Context<CloudEnv>,
  { sessionOnly = false }: ActorDemands,
): Promise<Identified> {
  const hasAuthorization = context.req.header("authorization") !== undefined;
  const token = bearerToken(context);
  if (token?.startsWith("mtr_") === true) return await identifyKey(parts, token, sessionOnly);
  const proof = proofOf(hasAuthorization, token, context.req.header("cookie"));
  const person = proof === null ? null : await parts.accounts.sessionOf(proof);
  if (person === null) return { ok: false, code: "unauthorised" };
  const { userId, name, email } = person;
  const actor: Actor = { userId, name, email, via: "session", keyWorkspaceId: null };
  return { ok: true, actor, asker: userId, byCookie: !hasAuthorization, outOfService: null };
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
  const person = (await parts.accounts.people([key.userId])).get(key.userId);
  const actor: Actor = {
    userId: key.userId,
    name: person?.name ?? "",
    email: person?.email ?? null,
    via: "key",
    keyWorkspaceId: key.workspaceId,
  };
  // A key's requests are not counted against its owner's: a script must not lock them out of their dashboard.
  return { ok: true, actor, asker: key.keyId, byCookie: false, outOfService: reasonOutOfService(key) };
}

function reasonOutOfService(key: AuthenticatedKey): ProblemCode | null {
  if (key.workspace.deletedAt !== null) return "workspace_deleted";
  return key.isMember ? null : "not_a_member";
}
