import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { PROBLEM_MEDIA_TYPE, problemSchema } from "../../core/wire/mod.ts";
import { API_ROUTES, type ApiCaller, type ApiRoute } from "./api-routes.ts";

/** Of the path prefix `/v1`. Source: contract, "Versioning", 1. */
const API_VERSION = "1";

/** What any route may answer besides: too many requests, a fault, a database that is away. */
const COMMON_REFUSALS = [429, 500, 503];

/** What a route for somebody may answer besides: nobody, a token out of reach or service, a cookie that another site sent along. */
const TOKEN_REFUSALS = [401, 403];

const SECURITY: Readonly<Record<ApiCaller, readonly Record<string, readonly string[]>[]>> = {
  anyone: [],
  key: [{ key: [] }],
  person: [{ session: [] }, { cookie: [] }, { key: [] }],
};

type JsonSchema = Readonly<Record<string, unknown>>;

/** What a check in code demands beyond the schema's words stays code: the schema is then the wider one. */
function jsonSchema(schema: v.GenericSchema, typeMode: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    errorMode: "ignore",
    typeMode,
    target: "draft-2020-12",
  });
  return rest as JsonSchema;
}

/** `/v1/x/:id` as OpenAPI writes it, with the names of its parameters. */
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

function operation({ summary, caller, query, body, answers, refusals }: ApiRoute, names: readonly string[]) {
  const problem = { content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } } };
  const refused = [...refusals, ...(caller === "anyone" ? [] : TOKEN_REFUSALS), ...COMMON_REFUSALS].toSorted(
    (a, b) => a - b,
  );
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
          ? { description: "done, without a body" }
          : {
              description: "done",
              content: { "application/json": { schema: jsonSchema(schema, "output") } },
            },
      ]),
      ...refused.map((status) => [String(status), { description: "refused", ...problem }]),
    ]),
  };
}

/** The cookie of a session as `adapters/accounts` has it made; over https its name says so (RFC 6265bis, section 4.1.3.1). */
function sessionCookie(baseUrl: string): string {
  return `${baseUrl.startsWith("https:") ? "__Secure-" : ""}meter.session_token`;
}

/** The API as OpenAPI 3.1, from the table of routes and the schemas of the wire. */
export function openApiDocument(baseUrl: string): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries<ApiRoute>(API_ROUTES)) {
    const [method = "", pattern = ""] = name.split(" ");
    const { path, names } = readPath(pattern);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, names) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "meter cloud",
      version: API_VERSION,
      description:
        "Money is in pico-USD as decimal strings, times are ISO 8601 in UTC, periods are half-open. Refusals are RFC 9457 problems with a stable `code`.",
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemSchema, "output") },
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "a sync key of a machine, or an admin key" },
        session: { type: "http", scheme: "bearer", description: "a person's session token" },
        cookie: { type: "apiKey", in: "cookie", name: sessionCookie(baseUrl) },
      },
    },
  };
}
