import type { CloudResult } from "../../core/delivery/retry/cloud-result.ts";
import type { BoundToken, CloudClientResult } from "../../core/ports/cloud-client.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import { parseWire, type WireSchema } from "../../core/wire/parse.ts";
import { problemSchema } from "../../core/wire/problem-details.ts";
import { readJson } from "../../core/wire/read-json.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";

/** The maximum size of a response, in bytes. Totals of several years by model fit, and so do all published rates. */
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/** How long one exchange may take, in milliseconds. The longest is a batch of 4 MiB on a slow connection. */
const EXCHANGE_TIMEOUT_MS = 60_000;

/** The configuration with the stored credentials. */
interface Connection {
  readonly settings: CloudSettings;
  /** The stored credentials, if they are for the configured origin. */
  readonly credentials: CloudCredentials | null;
  /** The origin of the stored credentials, if it is not the configured one. Such credentials are not used. */
  readonly otherOrigin: string | null;
}

/** Options of a request. */
interface RequestOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: string;
  readonly ifNoneMatch?: string | null;
  readonly timeoutMs?: number;
  readonly cancelled?: Promise<unknown>;
}

/** Returns the origin of a URL. */
export const originOf = (url: string): string => new URL(url).origin;

/** Reads the configuration and the credentials. Rejects if either can't be read. */
export async function readConnection(
  ports: Pick<CloudServicePorts, "settings" | "credentials">,
): Promise<Connection> {
  const settings = await ports.settings();
  const stored = await ports.credentials.read();
  const { baseUrl } = settings.cloud;
  const fits = stored !== null && baseUrl !== null && stored.origin === originOf(baseUrl);
  return {
    settings,
    credentials: fits ? stored : null,
    otherOrigin: stored !== null && !fits ? stored.origin : null,
  };
}

type ClientPort = Pick<CloudServicePorts, "client">;

/** Sends a request with the stored token to the cloud that issued it. */
export function requestCloud(
  ports: ClientPort,
  { baseUrl, token, origin }: CloudCredentials,
  path: string,
  options?: RequestOptions,
): Promise<CloudClientResult> {
  return send(ports, `${baseUrl}${path}`, { token, origin }, options);
}

/** Sends a request without a token. */
export function requestWithoutToken(
  ports: ClientPort,
  url: string,
  options?: RequestOptions,
): Promise<CloudClientResult> {
  return send(ports, url, null, options);
}

function send(
  { client }: ClientPort,
  url: string,
  bearer: BoundToken | null,
  { method = "GET", body, timeoutMs = EXCHANGE_TIMEOUT_MS, ...options }: RequestOptions = {},
): Promise<CloudClientResult> {
  const limits = { timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES };
  return client.send({ url, bearer, method, body: body ?? null, ...limits, ...options });
}

/** Parses the response body by the schema. Returns null if it does not match. */
export function parseResponse<T>(reply: CloudClientResult, schema: WireSchema<T>): T | null {
  if (reply.kind !== "http") return null;
  const json = readJson(reply.body);
  const parsed = json.ok ? parseWire(schema, json.value) : json;
  return parsed.ok ? (parsed.value as T) : null;
}

/** Returns the code of a problem response, or null. */
export function readProblemCode(reply: CloudClientResult): string | null {
  const code = parseResponse(reply, problemSchema)?.code ?? null;
  return code !== null && /^[a-z0-9_]{1,64}$/.test(code) ? code : null;
}

/** Returns the response without its body, but with the problem code. */
export function withoutBody(reply: CloudClientResult): CloudResult {
  if (reply.kind === "transport") return reply;
  const { status, retryAfterMs } = reply;
  const code = status >= 400 ? readProblemCode(reply) : null;
  return { kind: "http", status, retryAfterMs, ...(code !== null && { code }) };
}

/** Returns the HTTP status, or null if there was no response. */
export const httpStatusOf = (reply: CloudResult): number | null =>
  reply.kind === "http" ? reply.status : null;
