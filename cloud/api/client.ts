import * as v from "valibot";
import { type Problem, problemSchema } from "../../core/wire/mod.ts";
import { API_ROUTES, type ApiRoute, type ApiRouteName } from "./api-routes.ts";

type Routes = typeof API_ROUTES;

/** The names in a path: `ws` and `request_id` of `/v1/workspaces/:ws/traces/:request_id`. */
type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type InputOf<Route, Part extends string> = Route extends { readonly [Key in Part]: infer Schema }
  ? Schema extends v.GenericSchema
    ? { readonly [Key in Part]: v.InferInput<Schema> }
    : unknown
  : unknown;

/** What a call takes: the names in its path, its query, its body. */
export type CallInput<Name extends ApiRouteName> = (PathNames<Name> extends never
  ? unknown
  : { readonly params: Readonly<Record<PathNames<Name>, string>> }) &
  InputOf<Routes[Name], "query"> &
  InputOf<Routes[Name], "body">;

/** What a call gives: the answer's body, or null where the answer has none. */
export type CallOutput<Name extends ApiRouteName> = {
  [Status in keyof Routes[Name]["answers"]]: Routes[Name]["answers"][Status] extends v.GenericSchema
    ? v.InferOutput<Routes[Name]["answers"][Status]>
    : null;
}[keyof Routes[Name]["answers"]];

/** The cloud refused. `problem` says why; null where the answer was none of the API's own. */
export class CloudRefusal extends Error {
  override readonly name = "CloudRefusal";
  readonly status: number;
  readonly problem: Problem | null;
  constructor(status: number, problem: Problem | null) {
    super(problem === null ? `the cloud answered ${status}` : `${problem.code}: ${problem.title ?? status}`);
    this.status = status;
    this.problem = problem;
  }
}

/** How a client reaches a cloud. */
export interface CloudClientOptions {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** A sync key, an admin key, or a session's token; null for what anyone may call. */
  readonly token: string | null;
  /** Default: the platform's. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** A client in the types of the API's own table. */
export interface CloudClient {
  /** Calls a route. Rejects with a `CloudRefusal`, or with what `fetch` rejects with; redirects are not followed. */
  call<Name extends ApiRouteName>(name: Name, input: CallInput<Name>): Promise<CallOutput<Name>>;
}

/** What any input may hold. */
interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Makes a client. */
export function createCloudClient({
  baseUrl,
  token,
  fetch = globalThis.fetch,
}: CloudClientOptions): CloudClient {
  return {
    async call<Name extends ApiRouteName>(name: Name, input: CallInput<Name>) {
      const { params = {}, query = {}, body } = input as AnyInput;
      const route: ApiRoute = API_ROUTES[name];
      const [method = "", pattern = ""] = name.split(" ");
      const url = new URL(
        baseUrl + pattern.replaceAll(/:(\w+)/g, (_, part: string) => encodeURIComponent(params[part] ?? "")),
      );
      for (const [key, value] of Object.entries(query)) {
        if (value !== null && value !== undefined) url.searchParams.set(key, String(value));
      }
      const headers = new Headers({ accept: "application/json" });
      if (token !== null) headers.set("authorization", `Bearer ${token}`);
      if (body !== undefined) headers.set("content-type", "application/json");
      const answer = await fetch(
        new Request(url, {
          method,
          headers,
          redirect: "manual",
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      );
      const schema = route.answers[answer.status];
      if (schema === undefined) {
        const problem = v.safeParse(problemSchema, await answer.json().catch(() => null));
        throw new CloudRefusal(answer.status, problem.success ? problem.output : null);
      }
      if (schema === null) {
        await answer.body?.cancel();
        return null as CallOutput<Name>;
      }
      return v.parse(schema, await answer.json()) as CallOutput<Name>;
    },
  };
}
