import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ConnectionOwner } from "../../core/ports/connection-owner.ts";
import { budgetViews } from "../budgets/budget-views.ts";
import { createLocalPages } from "../page/local-pages.ts";
import { isPagePath, isProgramPath } from "../page/page-paths.ts";
import { showUnknownPage } from "../page/show-page.ts";
import { checkAccess, REQUEST_HEADER } from "./access.ts";
import type { ApiPorts } from "./api-ports.ts";
import { createBudgetRoutes } from "./budget-routes.ts";
import { getCoverage, getOutbox, getSettings } from "./coverage-routes.ts";
import { createDataRoutes } from "./data-routes.ts";
import { hasBearerSecret } from "./has-bearer-secret.ts";
import { createLimitRoutes } from "./limit-routes.ts";
import type { MeteredCounters } from "./metrics.ts";
import { createNowRoutes } from "./now-routes.ts";
import { problem } from "./problem.ts";
import { createProjectRoutes } from "./project-routes.ts";
import { responseHeaders } from "./response-headers.ts";
import { createSessionRoutes } from "./session-routes.ts";
import { isTelemetryPath, TELEMETRY_PATH } from "./telemetry-path.ts";
import { createTelemetryRoutes } from "./telemetry-routes.ts";
import { createUsageRoutes, getSavings } from "./usage-routes.ts";

/** The largest request body in bytes. The API takes settings, not data. */
export const MAX_BODY_BYTES = 64 * 1024;

/** How long a browser may cache a preflight response, in seconds. */
const PREFLIGHT_MAX_AGE_S = 600;

/** The client's end of a connection, as `adapters/http` reports it. */
export interface ApiPeer {
  readonly address: string | null;
  readonly port: number | null;
  /** The address that it connected to; not given if it is unknown. */
  readonly localAddress?: string;
  /** The same object for all requests of one connection. */
  readonly connection: object;
}

/** The second argument of `api.fetch(request, { peer })`. */
interface ApiBindings {
  peer?: ApiPeer;
}

/** Returns a lookup of connection owners that looks up each connection once. */
function createOwnerLookup({ owners, port }: Pick<ApiPorts, "owners" | "port">) {
  const known = new WeakMap<object, Promise<ConnectionOwner>>();
  return (peer: ApiPeer | undefined): Promise<ConnectionOwner> | ConnectionOwner | null => {
    if (owners === null) return null;
    if (peer === undefined || peer.address === null || peer.port === null) return "unknown";
    const { address: clientAddress, port: clientPort, localAddress, connection } = peer;
    const server = {
      serverPort: port(),
      ...(localAddress !== undefined && { serverAddress: localAddress }),
    };
    const found = known.get(connection) ?? owners.ownerOf({ clientAddress, clientPort, ...server });
    known.set(connection, found);
    return found;
  };
}

/**
 * Whether the request has a body that is not JSON. A page could send such a body without a preflight. The receiver of OpenTelemetry
 * checks the type itself: a page can't send its types without a preflight either.
 */
function isBodyOfOtherType(context: Context): boolean {
  const { req } = context;
  if (isTelemetryPath(req.path)) return false;
  const hasBody =
    (req.header("content-length") ?? "0") !== "0" || req.header("transfer-encoding") !== undefined;
  return hasBody && !/^application\/json\s*(?:;|$)/i.test(req.header("content-type") ?? "");
}

/**
 * Creates the loopback API with the local page. `checkAccess()` decides on each request before anything else happens.
 * The response to a refused request has no header that would let a page read it.
 */
export function createApi(ports: ApiPorts): Hono<{ Bindings: ApiBindings }> {
  const api = new Hono<{ Bindings: ApiBindings }>();
  api.use(createAccessMiddleware(ports));
  if (ports.telemetry !== undefined) api.route(TELEMETRY_PATH, createTelemetryRoutes(ports.telemetry));
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) =>
        problem(context, 413, "body_too_large", `The request body is larger than ${MAX_BODY_BYTES} bytes.`),
    }),
  );
  api.get("/health", (context) => context.json(ports.health()));
  api.get("/metrics", (context) =>
    context.body(ports.counters.render(ports.state(), readBudgetFigures(ports)), 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    }),
  );
  if (ports.cloud !== null) api.route("/v1/cloud", ports.cloud.routes);
  const { origins } = ports;
  if (origins !== undefined)
    api.route(
      "/v1/projects",
      createProjectRoutes(origins, (context) => hasBearerSecret(context, ports)),
    );
  api.route("/v1/limits", createLimitRoutes(ports));
  api.route("/v1/budgets", createBudgetRoutes(ports));
  api.route("/v1/now", createNowRoutes(ports));
  api.route("/v1/usage", createUsageRoutes(ports));
  api.route("/v1/sessions", createSessionRoutes(ports));
  api.get("/v1/coverage", (context) => getCoverage(ports, context));
  api.get("/v1/settings", (context) => getSettings(ports, context));
  api.get("/v1/outbox", (context) => getOutbox(ports, context));
  api.get("/v1/savings", (context) => getSavings(ports, context));
  api.route("/v1", createDataRoutes(ports));
  api.route("/", createLocalPages(ports));
  api.notFound((context) =>
    wantsPage(context)
      ? showUnknownPage(ports, context)
      : problem(context, 404, "not_found", "There is no resource at this path."),
  );
  api.onError((error, context) => {
    // A client that disconnected is not an error.
    if (error !== context.req.raw.signal.reason) ports.onError(error);
    return problem(
      context,
      500,
      "internal",
      "The daemon failed to handle this request. Its log has the error.",
    );
  });
  return api;
}

/** Whether a browser asks for a page that does not exist. */
const wantsPage = ({ req }: Context): boolean =>
  !isProgramPath(req.path) && /\btext\/html\b/.test(req.header("accept") ?? "");

function readBudgetFigures({ budgets, clock }: ApiPorts): Parameters<MeteredCounters["render"]>[1] {
  if (budgets === undefined) return undefined;
  const { tracker, configured } = budgets;
  const letThrough = budgets.letThrough();
  const views = budgetViews(tracker.state(), clock.now(), {
    configured,
    letThrough: letThrough.byBudget,
    cutCalls: tracker.cutCalls(),
  });
  return { views, letThrough };
}

/** Creates the middleware that checks access, answers preflights and sets the headers of every response. */
function createAccessMiddleware(ports: ApiPorts): MiddlewareHandler<{ Bindings: ApiBindings }> {
  const ownerOf = createOwnerLookup(ports);
  return async (context, next) => {
    const { req } = context;
    const verdict = checkAccess(
      {
        method: req.method,
        path: req.path,
        authority: new URL(req.url).host,
        header: (name) => req.header(name),
        hasSecret: hasBearerSecret(context, ports),
        owner: await ownerOf(context.env?.peer),
      },
      ports,
    );
    if (!verdict.ok) return problem(context, verdict.status, verdict.code, verdict.detail, responseHeaders);
    const headers = createAllowedHeaders(verdict.origin);
    if (req.method === "OPTIONS") return answerPreflight(context, headers);
    if (req.method !== "GET" && req.method !== "HEAD" && isBodyOfOtherType(context))
      return problem(
        context,
        415,
        "unsupported_media_type",
        "The request body must be application/json.",
        headers,
      );
    // Only pages are routed for a navigation.
    if (req.header("sec-fetch-dest") === "document" && !isPagePath(req.path))
      context.res = await showUnknownPage(ports, context);
    else await next();
    // Set after the route, so that no response lacks them. The page sets its own policy.
    for (const [name, value] of Object.entries(headers))
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    return undefined;
  };
}

/** Returns the headers of a response that the origin may read, if it is not null. */
function createAllowedHeaders(origin: string | null): Record<string, string> {
  return {
    ...responseHeaders,
    "access-control-allow-private-network": "true",
    vary: "Origin",
    ...(origin !== null && { "access-control-allow-origin": origin }),
  };
}

function answerPreflight(context: Context, headers: Readonly<Record<string, string>>): Response {
  return context.body(null, 204, {
    ...headers,
    "access-control-allow-methods": "GET, HEAD, POST",
    "access-control-allow-headers": `authorization, content-type, ${REQUEST_HEADER}`,
    "access-control-max-age": `${PREFLIGHT_MAX_AGE_S}`,
  });
}
