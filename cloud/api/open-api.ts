import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { PROBLEM_MEDIA_TYPE, problemSchema } from "../../core/wire/problem-details.ts";
import { API_ROUTES, type ApiCaller, type ApiRoute, refusalStatuses, splitRouteName } from "./api-routes.ts";

/** The version in the path prefix `/v1`. Source: docs/specification.md#versioning, 1. */
const API_VERSION = "1";

const SECURITY: Readonly<Record<ApiCaller, readonly Record<string, readonly string[]>[]>> = {
  anyone: [],
  key: [{ key: [] }],
  person: [{ session: [] }, { cookie: [] }, { key: [] }],
  session: [{ session: [] }, { cookie: [] }],
};

type JsonSchema = Readonly<Record<string, unknown>>;

/** Converts a schema. Checks that JSON Schema cannot express are left out, so the result accepts more. */
function jsonSchema(schema: v.GenericSchema, typeMode: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    errorMode: "ignore",
    typeMode,
    target: "draft-2020-12",
  });
  return rest as JsonSchema;
}

/** Converts a path such as `/v1/x/:id` to OpenAPI's form, and returns the names of its parameters. */
function readPath(path: string): { path: string; names: string[] } {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
  return { path: path.replaceAll(/:(\w+)/g, "{$1}"), names };
}

function parameters(names: readonly string[], query: v.GenericSchema | undefined): unknown[] {
  const inPath = names.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: name === "user" || name === "code" ? { type: "string" } : { type: "string", format: "uuid" },
  }));
  if (query === undefined) return inPath;
  const { properties = {}, required = [] } = jsonSchema(query, "input") as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  return [
    ...inPath,
    ...Object.entries(properties).map(([name, schema]) => ({
      name,
      in: "query",
      required: required.includes(name),
      schema,
    })),
  ];
}

function operation(route: ApiRoute, names: readonly string[]) {
  const { summary, caller, query, body, answers } = route;
  const problem = { content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } } };
  return {
    summary,
    security: SECURITY[caller],
    parameters: parameters(names, query),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: jsonSchema(body, "input") } },
          },
        }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, schema]) => [
        status,
        schema === null
          ? { description: "Success, without a body" }
          : {
              description: "Success",
              content: { "application/json": { schema: jsonSchema(schema, "output") } },
            },
      ]),
      ...refusalStatuses(route).map((status) => [String(status), { description: "Problem", ...problem }]),
    ]),
  };
}

/** Returns the name of the session cookie that `adapters/accounts` sets; over HTTPS it has a prefix (RFC 6265bis, section 4.1.3.1). */
function sessionCookie(baseUrl: string): string {
  return `${baseUrl.startsWith("https:") ? "__Secure-" : ""}meter.session_token`;
}

/** Creates the OpenAPI 3.1 document of the API. */
export function openApiDocument(baseUrl: string): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries<ApiRoute>(API_ROUTES)) {
    const { method, path: pattern } = splitRouteName(name);
    const { path, names } = readPath(pattern);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, names) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "meter cloud",
      version: API_VERSION,
      description:
        "Money is in pico-USD, as decimal strings. Times are ISO 8601 in UTC. Periods are half-open: the end is not included. Errors are RFC 9457 problems with a stable `code`.",
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemSchema, "output") },
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "A machine's sync key, or an admin key" },
        session: { type: "http", scheme: "bearer", description: "A person's session token" },
        cookie: { type: "apiKey", in: "cookie", name: sessionCookie(baseUrl) },
      },
    },
  };
}
