import type { BoundToken, CloudReply } from "../../core/ports/cloud-client.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { CloudAnswer } from "../../core/retry/mod.ts";
import { parseWire, problemSchema, readJson, type WireSchema } from "../../core/wire/mod.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";

/** Largest answer that is read, bytes: totals of years by model, or every published rate, fit well. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** How long one exchange may take, milliseconds; the slowest is a batch of 4 MiB on a thin line. */
const EXCHANGE_MS = 60_000;

/** What the configuration and the stored credentials say together. */
export interface Connection {
  readonly settings: CloudSettings;
  /** The credentials that may be used: enabled or not, but of the configured origin. */
  readonly credentials: CloudCredentials | null;
  /** The origin of credentials that are not the configured one's, and therefore not used. */
  readonly otherOrigin: string | null;
}

/** What a request needs beside its path. */
export interface Ask {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: string;
  readonly ifNoneMatch?: string | null;
  readonly timeoutMs?: number;
  readonly cancelled?: Promise<unknown>;
}

/** The origin of an address. */
export const originOf = (url: string): string => new URL(url).origin;

/** Reads configuration and credentials anew. Rejects where either can't be read. */
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

/** Asks the cloud with the stored token, at the address that it was minted for. */
export function askCloud(
  ports: ClientPort,
  { baseUrl, token, origin }: CloudCredentials,
  path: string,
  ask?: Ask,
): Promise<CloudReply> {
  return send(ports, `${baseUrl}${path}`, { token, origin }, ask);
}

/** Asks without a token. */
export function askOpenly(ports: ClientPort, url: string, ask?: Ask): Promise<CloudReply> {
  return send(ports, url, null, ask);
}

function send(
  { client }: ClientPort,
  url: string,
  bearer: BoundToken | null,
  { method = "GET", body, timeoutMs = EXCHANGE_MS, ...ask }: Ask = {},
): Promise<CloudReply> {
  const bounds = { timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES };
  return client.send({ url, bearer, method, body: body ?? null, ...bounds, ...ask });
}

/** The answer's JSON in the form that the schema gives it; null where it is none. */
export function readAnswer<T>(reply: CloudReply, schema: WireSchema<T>): T | null {
  if (reply.kind !== "http") return null;
  const json = readJson(reply.body);
  const parsed = json.ok ? parseWire(schema, json.value) : json;
  return parsed.ok ? (parsed.value as T) : null;
}

/** The stable code of a problem; null where the answer is none. */
export function problemCode(reply: CloudReply): string | null {
  const code = readAnswer(reply, problemSchema)?.code ?? null;
  return code !== null && /^[a-z0-9_]{1,64}$/.test(code) ? code : null;
}

/** The answer without its bytes, for the machines. */
export function withoutBody(reply: CloudReply): CloudAnswer {
  if (reply.kind === "transport") return reply;
  return { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs };
}

/** The status of an answer, where there was one. */
export const statusOf = (reply: CloudAnswer): number | null => (reply.kind === "http" ? reply.status : null);
