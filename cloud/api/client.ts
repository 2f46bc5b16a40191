import * as v from "valibot";
import { type Problem, problemSchema } from "../../core/wire/problem-details.ts";
import {
  API_ROUTES,
  type ApiRoute,
  type ApiRouteName,
  type PathNames,
  splitRouteName,
} from "./api-routes.ts";

type Routes = typeof API_ROUTES;

type InputOf<Route, Part extends string> = Route extends { readonly [Key in Part]: infer Schema }
  ? Schema extends v.GenericSchema
    ? { readonly [Key in Part]: v.InferInput<Schema> }
    : unknown
  : unknown;

/** The input of a call: its path parameters, query and body. */
export type CallInput<Name extends ApiRouteName> = (PathNames<Name> extends never
  ? unknown
  : { readonly params: Readonly<Record<PathNames<Name>, string>> }) &
  InputOf<Routes[Name], "query"> &
  InputOf<Routes[Name], "body">;

/** The output of a call: the body of the response, or null if it has none. */
export type CallOutput<Name extends ApiRouteName> = {
  [Status in keyof Routes[Name]["answers"]]: Routes[Name]["answers"][Status] extends v.GenericSchema
    ? v.InferOutput<Routes[Name]["answers"][Status]>
    : null;
}[keyof Routes[Name]["answers"]];

/**
 * Thrown for an unsuccessful response. `problem` says why; it is null if the response is not one of the API's problems.
 */
export class CloudApiError extends Error {
  override readonly name = "CloudApiError";
  readonly status: number;
  readonly problem: Problem | null;
  constructor(status: number, problem: Problem | null) {
    super(problem === null ? `the cloud answered ${status}` : `${problem.code}: ${problem.title ?? status}`);
    this.status = status;
    this.problem = problem;
  }
}

/** The options of a cloud client. */
export interface CloudClientOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** A sync key, an admin key or a session token; null for the routes that anyone may call. */
  readonly token: string | null;
  /** Default: the platform's `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** A typed client of the cloud's API. */
export interface CloudClient {
  /** Calls a route. Rejects with a `CloudApiError`, or with the error of `fetch`. Does not follow redirects. */
  call<Name extends ApiRouteName>(name: Name, input: CallInput<Name>): Promise<CallOutput<Name>>;
}

/** The input of any route. */
interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Creates a client. */
export function createCloudClient({
  baseUrl,
  token,
  fetch = globalThis.fetch,
}: CloudClientOptions): CloudClient {
  return {
    async call<Name extends ApiRouteName>(name: Name, input: CallInput<Name>) {
      const { params = {}, query = {}, body } = input as AnyInput;
      const route: ApiRoute = API_ROUTES[name];
      const { method, path } = splitRouteName(name);
      const url = new URL(
        baseUrl + path.replaceAll(/:(\w+)/g, (_, part: string) => encodeURIComponent(params[part] ?? "")),
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
        throw new CloudApiError(answer.status, problem.success ? problem.output : null);
      }
      if (schema === null) {
        await answer.body?.cancel();
        return null as CallOutput<Name>;
      }
      return v.parse(schema, await answer.json()) as CallOutput<Name>;
    },
  };
}
