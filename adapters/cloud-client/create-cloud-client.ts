import { Buffer } from "node:buffer";
import { Agent, fetch as undiciFetch } from "undici";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient, CloudReply, CloudRequest } from "../../core/ports/cloud-client.ts";
import { parseRetryAfter } from "../../core/retry/mod.ts";
import { transportReason } from "./transport-reason.ts";

/** How long a connection may take to stand, TLS included, milliseconds. */
export const CONNECT_TIMEOUT_MS = 10_000;

/** How long the answer's head may take, milliseconds: a poll of the pairing waits up to 25 s. */
export const HEADERS_TIMEOUT_MS = 40_000;

/** How long an answer may be silent between two parts of its body, milliseconds. */
export const BODY_TIMEOUT_MS = 15_000;

/** What the client is made of. */
export interface CloudClientOptions {
  readonly clock: Clock;
  /** The certificates that servers are verified against, PEM. */
  readonly roots: readonly string[];
  /** Sent as `User-Agent`. */
  readonly userAgent: string;
  /** For tests: shorter waits. */
  readonly timeouts?: {
    readonly connectMs?: number;
    readonly headersMs?: number;
    readonly bodyMs?: number;
  };
}

/** Hosts that only this machine answers. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The parts of `fetch` that both kinds have. */
type Fetch = (
  url: string,
  init: Record<string, unknown>,
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}>;

/**
 * Makes the client. It has its own agent, so that no proxy of the environment is ever used (it may be the daemon's own)
 * and `NODE_TLS_REJECT_UNAUTHORIZED` changes nothing.
 */
export function createCloudClient(options: CloudClientOptions): CloudClient {
  const { fetch, close } = "Bun" in globalThis ? bunFetch(options) : agentFetch(options);

  return {
    async send(request) {
      refuseLeak(request);
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(named("TimeoutError")), request.timeoutMs);
      const leave = request.cancelled === undefined ? () => {} : joinCancelled(request.cancelled, abort);
      try {
        return await exchange(fetch, request, options, abort.signal);
      } catch (error) {
        // Some runtimes give their own error for a request given up; the signal knows why.
        return {
          kind: "transport",
          reason: transportReason(abort.signal.aborted ? abort.signal.reason : error),
        };
      } finally {
        clearTimeout(timer);
        leave();
        abort.abort(named("AbortError"));
      }
    },
    close,
  };
}

/** The requests that a promise gives up when it resolves. */
const underWay = new WeakMap<Promise<unknown>, Set<AbortController>>();

/**
 * Has the request given up with the promise; what this gives back takes it out again. One promise may stand behind all
 * requests of a worker's life, and keeps everything that ever waited for it: so it is waited for once.
 */
function joinCancelled(cancelled: Promise<unknown>, abort: AbortController): () => void {
  let requests = underWay.get(cancelled);
  if (requests === undefined) {
    const own = new Set<AbortController>();
    const giveUp = () => {
      underWay.delete(cancelled);
      for (const each of own) each.abort(named("AbortError"));
    };
    cancelled.then(giveUp, () => {});
    underWay.set(cancelled, own);
    requests = own;
  }
  requests.add(abort);
  return () => void requests.delete(abort);
}

async function exchange(
  fetch: Fetch,
  request: CloudRequest,
  { clock, userAgent }: CloudClientOptions,
  signal: AbortSignal,
): Promise<CloudReply> {
  const { bearer, body, ifNoneMatch } = request;
  const response = await fetch(request.url, {
    method: request.method,
    redirect: "manual",
    signal,
    headers: {
      accept: "application/json",
      // Whatever comes is bounded in bytes, and a compressed answer would only hide how many they are.
      "accept-encoding": "identity",
      "user-agent": userAgent,
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer.token}` }),
      ...(body === null ? {} : { "content-type": "application/json" }),
      ...(ifNoneMatch ? { "if-none-match": ifNoneMatch } : {}),
    },
    ...(body === null ? {} : { body }),
  });
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > request.maxAnswerBytes) return { kind: "transport", reason: "invalid_answer" };
    parts.push(part);
  }
  return {
    kind: "http",
    status: response.status,
    retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), clock.now()),
    etag: response.headers.get("etag"),
    body: Buffer.concat(parts),
  };
}

/** A token goes to its own origin alone, encrypted unless it stays on this machine. */
function refuseLeak({ url, bearer }: CloudRequest): void {
  const { origin, protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") throw new TypeError("an address with a login in it is not asked");
  if (protocol !== "https:" && !(protocol === "http:" && LOOPBACK.test(hostname))) {
    throw new TypeError(`only https, and http on this machine, is spoken: ${protocol}//${hostname}`);
  }
  if (bearer !== null && bearer.origin !== origin) {
    throw new TypeError(`a token of ${bearer.origin} does not go to ${origin}`);
  }
}

function agentFetch({ roots, timeouts = {} }: CloudClientOptions): { fetch: Fetch; close(): Promise<void> } {
  const dispatcher = new Agent({
    connect: {
      timeout: timeouts.connectMs ?? CONNECT_TIMEOUT_MS,
      ca: [...roots],
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
    },
    headersTimeout: timeouts.headersMs ?? HEADERS_TIMEOUT_MS,
    bodyTimeout: timeouts.bodyMs ?? BODY_TIMEOUT_MS,
    keepAliveTimeout: 10_000,
    maxHeaderSize: 32 * 1024,
    pipelining: 1,
    connections: 4,
  });
  const fetch = (url: string, init: Record<string, unknown>) => undiciFetch(url, { ...init, dispatcher });
  return { fetch: fetch as unknown as Fetch, close: () => dispatcher.destroy() };
}

/** Bun has its own stub in undici's place; its `fetch` takes the roots, and of the waits only the whole one. */
function bunFetch({ roots }: CloudClientOptions): { fetch: Fetch; close(): Promise<void> } {
  const fetch = (url: string, init: Record<string, unknown>) =>
    globalThis.fetch(url, {
      ...init,
      proxy: undefined,
      tls: { ca: [...roots], rejectUnauthorized: true },
    } as RequestInit);
  return { fetch: fetch as unknown as Fetch, close: async () => {} };
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}
