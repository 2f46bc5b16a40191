import type { Context } from "hono";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { FramedPage } from "../../pages/frame.ts";
import type { PartReader } from "../../pages/page-parts.ts";
import type { PagePlace } from "../../pages/page-place.ts";
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

/** A person who visits a page of one of their workspaces. */
export interface WorkspaceVisitor extends Visitor {
  readonly workspace: WorkspaceAccess;
}

/** One request for a page of a workspace, after its access was checked. */
export interface PageCall extends WorkspaceVisitor {
  readonly env: PageEnv;
  readonly context: Context<CloudEnv>;
  /** The time zone, the current time, and the base of links: `/w/{ws}`. */
  readonly place: PagePlace;
  /** Reads the parts without which the page is still of use. */
  readonly reader: PartReader;
  /** The parameters of the address. */
  readonly parameters: URLSearchParams;
}

/** A page in the workspace's frame, with its status; or another response, such as a file, a redirect or a problem. */
export type PageAnswer =
  | Response
  | (FramedPage & { readonly status?: 200 | 400 | 404 | 409 | 422 | 500 | 503 });

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
