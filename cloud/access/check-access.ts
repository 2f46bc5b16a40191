import type { Context } from "hono";
import type { ApiRoute } from "../api/api-routes.ts";
import { addressGroup } from "../http/client-address.ts";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import type { AuthenticatedKey } from "../store/keys.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
import type { Actor } from "./actor.ts";
import { authenticateKey } from "./authenticate-key.ts";
import { authenticatePerson } from "./authenticate-person.ts";
import { authoriseInOrganisation, authoriseInWorkspace } from "./authorise.ts";

/** Who makes a request and what of the path they can access; each field is present if the route requires it. */
export interface Access {
  readonly key?: AuthenticatedKey;
  readonly actor?: Actor;
  readonly workspace?: WorkspaceAccess;
  readonly organisationId?: string;
}

/** Checks a request against what its route requires: first the caller, then their rate limit, then the workspace or organisation. */
export async function checkAccess(
  parts: CloudParts,
  route: ApiRoute,
  context: Context<CloudEnv>,
): Promise<OrRefusal<Access>> {
  switch (route.caller) {
    case "anyone":
      return await checkAddressLimit(parts, route, context);
    case "key": {
      const key = await authenticateKey(parts, context, { inService: route.inService ?? true });
      return key.ok ? { ok: true, value: { key: key.value } } : key;
    }
    case "person":
    case "session":
      return await checkPerson(parts, route, context);
  }
}

async function checkAddressLimit(
  parts: CloudParts,
  { addressLimit }: ApiRoute,
  context: Context<CloudEnv>,
): Promise<OrRefusal<Access>> {
  if (addressLimit === undefined) return { ok: true, value: {} };
  const client = addressGroup(parts.addressOf(context));
  const retryAfterSeconds = await parts.limits[addressLimit].take(client, parts.clock.now());
  if (retryAfterSeconds === null) return { ok: true, value: {} };
  return { ok: false, refusal: problem("rate_limited", { retryAfterSeconds }) };
}

async function checkPerson(
  parts: CloudParts,
  { caller, workspace, organisation }: ApiRoute,
  context: Context<CloudEnv>,
): Promise<OrRefusal<Access>> {
  const person = await authenticatePerson(parts, context, { sessionOnly: caller === "session" });
  if (!person.ok) return person;
  const actor = person.value;
  if (workspace !== undefined) {
    const found = await authoriseInWorkspace(parts.db, actor, context.req.param("ws") ?? "", workspace);
    return found.ok ? { ok: true, value: { actor, workspace: found.value } } : found;
  }
  if (organisation !== undefined) {
    const id = context.req.param("org") ?? "";
    const found = await authoriseInOrganisation(parts.db, actor, id, organisation);
    return found.ok ? { ok: true, value: { actor, organisationId: found.value } } : found;
  }
  return { ok: true, value: { actor } };
}
