/**
 * The cloud's API as a table of routes with their schemas. The OpenAPI document at `/openapi.json` and a typed client are
 * derived from it.
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
export { API_ROUTES, type ApiRoute, type ApiRouteName } from "./api-routes.ts";
export {
  type CallInput,
  type CallOutput,
  CloudApiError,
  type CloudClient,
  type CloudClientOptions,
  createCloudClient,
} from "./client.ts";
export { openApiDocument } from "./open-api.ts";
