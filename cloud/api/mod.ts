/**
 * The cloud's API as a table: every route with its schemas. From it come the OpenAPI document at `/openapi.json` and a
 * client whose calls are typed.
 *
 * ```ts
 * import { createCloudClient, openApiDocument } from "./mod.ts";
 *
 * const client = createCloudClient({
 *   baseUrl: "https://meter.example.com",
 *   token: null,
 *   fetch: async () => Response.json({ strings: ["one", "two"], wording_hash: "ab".repeat(32) }),
 * });
 * console.log((await client.call("GET /v1/consent/checkout", {})).strings.length); // 2
 * console.log(openApiDocument("https://meter.example.com").openapi); // 3.1.0
 * ```
 *
 * @module
 */
export { API_ROUTES, type ApiCaller, type ApiRoute, type ApiRouteName } from "./api-routes.ts";
export {
  type CallInput,
  type CallOutput,
  type CloudClient,
  type CloudClientOptions,
  CloudRefusal,
  createCloudClient,
} from "./client.ts";
export { openApiDocument } from "./open-api.ts";
