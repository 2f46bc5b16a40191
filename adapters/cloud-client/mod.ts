/**
 * The cloud over HTTP, by undici with an agent of its own: waits bounded, answers bounded in bytes, certificates always
 * verified, redirects never followed, and a token that goes to no origin but its own.
 *
 * ```ts
 * import { systemClock } from "../clock/mod.ts";
 * import { createCloudClient } from "./mod.ts";
 *
 * const client = createCloudClient({ clock: systemClock, roots: [], userAgent: "example" });
 * const request = { method: "GET", bearer: null, body: null, maxAnswerBytes: 1024, timeoutMs: 1_000 } as const;
 * console.log(await client.send({ ...request, url: "http://127.0.0.1:1/" })); // { kind: "transport", reason: … }
 * await client.close();
 * ```
 *
 * @module
 */
export {
  BODY_TIMEOUT_MS,
  type CloudClientOptions,
  CONNECT_TIMEOUT_MS,
  createCloudClient,
  HEADERS_TIMEOUT_MS,
} from "./create-cloud-client.ts";
export { transportReason } from "./transport-reason.ts";
