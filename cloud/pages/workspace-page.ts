import type { Context } from "hono";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv } from "../ports.ts";
import { listWorkspaces, type WorkspaceAccess } from "../store/workspaces.ts";
import { findSignedInPerson, type PageEnv, redirectToSignIn } from "./page-parts.ts";

/** A signed-in person and the workspaces they can access. */
export interface Visitor {
  readonly person: AccountPerson;
  readonly workspaces: readonly WorkspaceAccess[];
}

/** A visitor of a page of one of their workspaces. */
export interface WorkspaceVisitor extends Visitor {
  readonly workspace: WorkspaceAccess;
}

/** Returns the visitor of a page, or a redirect to the sign-in page, which returns to `next`. */
export async function requireVisitor(
  { parts }: PageEnv,
  context: Context<CloudEnv>,
  next: string,
): Promise<OrRefusal<Visitor>> {
  const person = await findSignedInPerson(parts, context);
  if (person === null) return { ok: false, refusal: redirectToSignIn(next) };
  return { ok: true, value: { person, workspaces: await listWorkspaces(parts.db, person.userId) } };
}

/** Returns the visitor of a workspace's page (`:ws`); 404 if they cannot access the workspace, as in the API. */
export async function requireWorkspaceVisitor(
  env: PageEnv,
  context: Context<CloudEnv>,
  next: string,
): Promise<OrRefusal<WorkspaceVisitor>> {
  const visitor = await requireVisitor(env, context, next);
  if (!visitor.ok) return visitor;
  const workspaceId = (context.req.param("ws") ?? "").toLowerCase();
  const workspace = visitor.value.workspaces.find((each) => each.workspaceId === workspaceId);
  if (workspace === undefined) return { ok: false, refusal: problem("not_found") };
  return { ok: true, value: { ...visitor.value, workspace } };
}

/** Returns the path and query of the request, for the return after signing in. */
export function currentPath(context: Context<CloudEnv>): string {
  const { pathname, search } = new URL(context.req.url);
  return pathname + search;
}
