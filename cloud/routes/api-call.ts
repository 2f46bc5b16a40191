import type { Context } from "hono";
import type * as v from "valibot";
import type { Actor } from "../access/actor.ts";
import type { API_ROUTES, ApiRouteName, PathNames } from "../api/api-routes.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import type { AuthenticatedKey } from "../store/keys.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";

type Routes = typeof API_ROUTES;

type CallerOf<Route> = Route extends { readonly caller: "key" }
  ? { readonly key: AuthenticatedKey }
  : Route extends { readonly caller: "person" | "session" }
    ? { readonly actor: Actor }
    : unknown;

type ScopeOf<Route> = Route extends { readonly workspace: object }
  ? { readonly workspace: WorkspaceAccess }
  : Route extends { readonly organisation: object }
    ? { readonly organisationId: string }
    : unknown;

type InputOf<Route, Part extends "query" | "body"> = Route extends { readonly inputReadBy: "handler" }
  ? Route extends { readonly body: v.GenericSchema }
    ? { readonly bytes: Uint8Array }
    : unknown
  : Route extends { readonly [Key in Part]: infer Schema extends v.GenericSchema }
    ? { readonly [Key in Part]: v.InferOutput<Schema> }
    : unknown;

/** Creates one of the route's successful answers: a status of the table, and its body if it has one. */
type AnswerWith<Answers> = <Status extends keyof Answers & number>(
  status: Status,
  ...body: Answers[Status] extends v.GenericSchema ? [body: v.InferOutput<Answers[Status]>] : []
) => Response;

/** What every handler gets. */
interface AnyCall {
  readonly parts: CloudParts;
  readonly context: Context<CloudEnv>;
}

/** One call of a route, after its access was checked and its input parsed, with the fields that the table of routes implies. */
export type ApiCall<Name extends ApiRouteName> = AnyCall & {
  /** The parameters of the path. */
  readonly params: Readonly<Record<PathNames<Name>, string>>;
  readonly answer: AnswerWith<Routes[Name]["answers"]>;
} & CallerOf<Routes[Name]> &
  ScopeOf<Routes[Name]> &
  InputOf<Routes[Name], "query"> &
  InputOf<Routes[Name], "body">;

/** The handler of every route. A missing handler and one without a route are type errors. */
export type ApiHandlers = {
  readonly [Name in ApiRouteName]: (call: ApiCall<Name>) => Response | Promise<Response>;
};
