import { Buffer } from "node:buffer";
import { parseRetryAfter } from "../../core/delivery/retry/retry-after.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient, CloudClientResult, CloudRequest } from "../../core/ports/cloud-client.ts";
import { transportReason } from "./transport-reason.ts";

/** Timeout for connecting, including TLS, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Timeout for the response headers, in milliseconds. A pairing poll waits up to 25 s. */
const HEADERS_TIMEOUT_MS = 40_000;

/** Timeout between two chunks of a response body, in milliseconds. */
const BODY_TIMEOUT_MS = 15_000;

/** Settings of the client. */
export interface CloudClientOptions {
  readonly clock: Clock;
  /** Returns the certificates that servers are verified against, PEM. Called at the first request. */
  readonly roots: () => readonly string[];
  /** Sent as `User-Agent`. */
  readonly userAgent: string;
  /** Shorter timeouts, for tests. */
  readonly timeouts?: {
    readonly connectMs?: number;
    readonly headersMs?: number;
    readonly bodyMs?: number;
  };
}

/** Loopback hosts. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The parts of `fetch` that undici and Bun share. */
type Fetch = (
  url: string,
  init: Record<string, unknown>,
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}>;

/**
 * Creates the client. It has its own agent, so that it never uses a proxy from the environment (which may be this daemon's own)
 * and ignores `NODE_TLS_REJECT_UNAUTHORIZED`.
 */
export function createCloudClient(options: CloudClientOptions): CloudClient {
  const { fetch, close } = "Bun" in globalThis ? bunFetch(options) : agentFetch(options);

  return {
    async send(request) {
      rejectUnsafeRequest(request);
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(errorNamed("TimeoutError")), request.timeoutMs);
      const detach =
        request.cancelled === undefined ? () => {} : abortWhenCancelled(request.cancelled, abort);
      try {
        return await exchange(fetch, request, options, abort.signal);
      } catch (error) {
        // Some runtimes throw their own error for an aborted request; the signal has the reason.
        return {
          kind: "transport",
          reason: transportReason(abort.signal.aborted ? abort.signal.reason : error),
        };
      } finally {
        clearTimeout(timer);
        detach();
        abort.abort(errorNamed("AbortError"));
      }
    },
    close,
  };
}

/** The requests to abort when a promise resolves. */
const inFlight = new WeakMap<Promise<unknown>, Set<AbortController>>();

/**
 * Aborts the request when the promise resolves. Returns a function that detaches it. One promise can serve all requests of a
 * worker, and a promise keeps every callback ever attached to it, so only one callback is attached.
 */
function abortWhenCancelled(cancelled: Promise<unknown>, abort: AbortController): () => void {
  let requests = inFlight.get(cancelled);
  if (requests === undefined) {
    const own = new Set<AbortController>();
    const abortAll = () => {
      inFlight.delete(cancelled);
      for (const each of own) each.abort(errorNamed("AbortError"));
    };
    cancelled.then(abortAll, () => {});
    inFlight.set(cancelled, own);
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
): Promise<CloudClientResult> {
  const { bearer, body, ifNoneMatch, headers = {} } = request;
  const response = await fetch(request.url, {
    method: request.method,
    redirect: "manual",
    signal,
    headers: {
      ...headers,
      accept: "application/json",
      // The response size is limited in bytes, and compression would hide it.
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
    if (length > request.maxResponseBytes) return { kind: "transport", reason: "invalid_answer" };
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

/** Throws unless the request uses https (or http on this machine) and sends a token only to the token's own origin. */
function rejectUnsafeRequest({ url, bearer }: CloudRequest): void {
  const { origin, protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new TypeError("a cloud address must not contain a user name or password");
  if (protocol !== "https:" && !(protocol === "http:" && LOOPBACK.test(hostname))) {
    throw new TypeError(`a cloud address must use https, or http on this machine: ${protocol}//${hostname}`);
  }
  if (bearer !== null && bearer.origin !== origin) {
    throw new TypeError(`a token for ${bearer.origin} must not be sent to ${origin}`);
  }
}

function agentFetch({ roots, timeouts = {} }: CloudClientOptions): { fetch: Fetch; close(): Promise<void> } {
  // Loaded at the first request: most daemons have no cloud, and its 109 modules slow down the start.
  const load = async () => {
    const { Agent, fetch } = (await import("./undici.ts")).undici;
    const dispatcher = new Agent({
      connect: {
        timeout: timeouts.connectMs ?? CONNECT_TIMEOUT_MS,
        ca: [...roots()],
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
    return { fetch, dispatcher };
  };
  let loaded: ReturnType<typeof load> | null = null;
  const fetch = async (url: string, init: Record<string, unknown>) => {
    // After a failure, such as certificates that can't be read now, the next request loads it again.
    loaded ??= load().catch((cause: unknown) => {
      loaded = null;
      throw cause;
    });
    const { fetch: undiciFetch, dispatcher } = await loaded;
    return undiciFetch(url, { ...init, dispatcher });
  };
  return {
    fetch: fetch as unknown as Fetch,
    async close() {
      await (await loaded)?.dispatcher.destroy();
    },
  };
}

/** Bun replaces undici with a stub. Its own `fetch` takes the roots, and only the overall timeout. */
function bunFetch({ roots }: CloudClientOptions): { fetch: Fetch; close(): Promise<void> } {
  let ca: string[] | null = null;
  const fetch = (url: string, init: Record<string, unknown>) => {
    ca ??= [...roots()];
    return globalThis.fetch(url, {
      ...init,
      proxy: undefined,
      tls: { ca, rejectUnauthorized: true },
    } as RequestInit);
  };
  return { fetch: fetch as unknown as Fetch, close: async () => {} };
}

function errorNamed(name: string): Error {
  return Object.assign(new Error(name), { name });
}
