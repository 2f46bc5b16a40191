import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ConnectionOwner } from "../../core/ports/connection-owner.ts";
import { judgeAccess, REQUEST_HEADER } from "./access.ts";
import { answerHeaders } from "./answer-headers.ts";
import type { ApiPorts } from "./api-ports.ts";
import { createDataRoutes } from "./data-routes.ts";
import { createPageRoutes } from "./page-routes.ts";
import { problem } from "./problem.ts";
import { showsSecret } from "./shows-secret.ts";

/** What a request may bring with it in bytes: the API takes settings, never data. */
export const MAX_BODY_BYTES = 64 * 1024;

/** How long a browser may remember what a preflight said, in seconds. */
const PREFLIGHT_MAX_AGE_S = 600;

/** Who is at the other end of a request's connection, as `adapters/http` tells it. */
export interface ApiPeer {
  readonly address: string | null;
  readonly port: number | null;
  /** The same object for all requests of one connection. */
  readonly connection: object;
}

/** What comes with a request besides itself: `api.fetch(request, { peer })`. */
export interface ApiBindings {
  peer?: ApiPeer;
}

/** Answers whose a connection is, once for each. */
function createOwnerLookup({ owners, port }: Pick<ApiPorts, "owners" | "port">) {
  const known = new WeakMap<object, Promise<ConnectionOwner>>();
  return (peer: ApiPeer | undefined): Promise<ConnectionOwner> | ConnectionOwner | null => {
    if (owners === null) return null;
    if (peer === undefined || peer.address === null || peer.port === null) return "unknown";
    const found =
      known.get(peer.connection) ??
      owners.ownerOf({ clientAddress: peer.address, clientPort: peer.port, serverPort: port() });
    known.set(peer.connection, found);
    return found;
  };
}

/** Whether the request carries a body; a page's `fetch` with a body of another type would need no preflight. */
function isBodyOfOtherType(context: Context): boolean {
  const { req } = context;
  const hasBody =
    (req.header("content-length") ?? "0") !== "0" || req.header("transfer-encoding") !== undefined;
  return hasBody && !/^application\/json\s*(?:;|$)/i.test(req.header("content-type") ?? "");
}

/**
 * The daemon's loopback API and its local page. Who may ask what is decided by `judgeAccess()` before anything else is
 * done; a request that it refuses gets no header that would let a page read the answer.
 */
export function createApi(ports: ApiPorts): Hono<{ Bindings: ApiBindings }> {
  const api = new Hono<{ Bindings: ApiBindings }>();
  const ownerOf = createOwnerLookup(ports);

  api.use(async (context, next) => {
    const { req } = context;
    const url = new URL(req.url);
    const verdict = judgeAccess(
      {
        method: req.method,
        path: req.path,
        authority: url.host,
        header: (name) => req.header(name),
        hasSecret: showsSecret(context, ports),
        owner: await ownerOf(context.env?.peer),
      },
      ports,
    );
    if (!verdict.ok) return problem(context, verdict.status, verdict.code, verdict.detail, answerHeaders);
    const headers = {
      ...answerHeaders,
      "access-control-allow-private-network": "true",
      vary: "Origin",
      ...(verdict.origin !== null && { "access-control-allow-origin": verdict.origin }),
    };
    if (req.method === "OPTIONS") {
      return context.body(null, 204, {
        ...headers,
        "access-control-allow-methods": "GET, HEAD, POST",
        "access-control-allow-headers": `authorization, content-type, ${REQUEST_HEADER}`,
        "access-control-max-age": `${PREFLIGHT_MAX_AGE_S}`,
      });
    }
    if (req.method !== "GET" && req.method !== "HEAD" && isBodyOfOtherType(context))
      return problem(context, 415, "unsupported_media_type", "A body must be application/json.", headers);
    await next();
    // Afterwards, so that no route can answer without them; the page has a policy of its own.
    for (const [name, value] of Object.entries(headers))
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    return undefined;
  });
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) =>
        problem(context, 413, "body_too_large", `A body may have ${MAX_BODY_BYTES} bytes.`),
    }),
  );

  api.get("/health", (context) => context.json(ports.health()));
  api.get("/metrics", (context) =>
    context.body(ports.counters.render(ports.status()), 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    }),
  );
  if (ports.cloud !== null) api.route("/v1/cloud", ports.cloud.routes);
  api.route("/v1", createDataRoutes(ports));
  api.route("/", createPageRoutes(ports));
  api.notFound((context) => problem(context, 404, "not_found", "There is nothing at this address."));
  api.onError((error, context) => {
    // Somebody who went away is no failure.
    if (error !== context.req.raw.signal.reason) ports.onError(error);
    return problem(context, 500, "internal", "The daemon could not answer; its log says why.");
  });
  return api;
}
