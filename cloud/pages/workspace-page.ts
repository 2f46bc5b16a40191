import type { Context } from "hono";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import { problem } from "../errors.ts";
import type { CloudEnv } from "../ports.ts";
import type { Reading } from "../read-payload.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
import { listWorkspaces } from "../store/workspaces.ts";
import { goToSignIn, type PageEnv, personOf } from "./page-parts.ts";

/** Somebody who is signed in, and where they may go. */
export interface Visitor {
  readonly person: AccountPerson;
  readonly workspaces: readonly WorkspaceAccess[];
}

/** The same on a page of one of these workspaces. */
export interface WorkspaceVisitor extends Visitor {
  readonly workspace: WorkspaceAccess;
}

/** Who visits a page, or the way to sign in and come back to `next`. */
export async function visitorOf(
  { parts }: PageEnv,
  context: Context<CloudEnv>,
  next: string,
): Promise<Reading<Visitor>> {
  const person = await personOf(parts, context);
  if (person === null) return { ok: false, refusal: goToSignIn(next) };
  return { ok: true, value: { person, workspaces: await listWorkspaces(parts.db, person.userId) } };
}

/** The same on a page of a workspace (`:ws`); 404 for one that the visitor may not enter, as in the API. */
export async function workspaceVisitorOf(
  env: PageEnv,
  context: Context<CloudEnv>,
  next: string,
): Promise<Reading<WorkspaceVisitor>> {
  const visitor = await visitorOf(env, context, next);
  if (!visitor.ok) return visitor;
  const workspaceId = (context.req.param("ws") ?? "").toLowerCase();
  const workspace = visitor.value.workspaces.find((each) => each.workspaceId === workspaceId);
  if (workspace === undefined) return { ok: false, refusal: problem("not_found") };
  return { ok: true, value: { ...visitor.value, workspace } };
}

/** The address that was asked for, to come back to. */
export function hereOf(context: Context<CloudEnv>): string {
  const { pathname, search } = new URL(context.req.url);
  return pathname + search;
}
