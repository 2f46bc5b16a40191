import { Hono } from "hono";
import { routePath } from "hono/route";
import { openApiDocument } from "./api/mod.ts";
import { clientAddress } from "./client-address.ts";
import { problemOf } from "./errors.ts";
import { newId } from "./new-id.ts";
import { answerNotFound, registerPages } from "./pages/register-pages.ts";
import {
  CLOUD_CONFIG_DEFAULTS,
  type CloudConfig,
  type CloudEnv,
  type CloudParts,
  type CloudPorts,
  type CloudSettings,
} from "./ports.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { requireKey } from "./require-key.ts";
import { deleteKey, getWhoami } from "./routes/daemon-key.ts";
import { getDaemonTotals } from "./routes/daemon-totals.ts";
import { postPairingPoll, postPairingStart } from "./routes/pairing.ts";
import { registerPeopleRoutes } from "./routes/people/register-people-routes.ts";
import { getRates } from "./routes/pricing-rates.ts";
import { registerReadRoutes } from "./routes/reads/register-read-routes.ts";
import { postBody } from "./routes/request-body.ts";
import { postBatch } from "./routes/requests-batch.ts";
import { createRateSource } from "./store/rates.ts";

/** The cloud as a Hono app: serve its `fetch`. The database must have been migrated and its rates seeded. */
export function createCloud(ports: CloudPorts, config: CloudSettings = {}): Hono<CloudEnv> {
  const settings: CloudConfig = {
    ...CLOUD_CONFIG_DEFAULTS,
    ...config,
    rateLimits: { ...CLOUD_CONFIG_DEFAULTS.rateLimits, ...config.rateLimits },
  };
  const parts: CloudParts = {
    ...ports,
    config: settings,
    rates: createRateSource(ports.db, ports.clock),
    addressOf: (context) =>
      clientAddress(
        ports.peerAddress(context.env),
        context.req.header("x-forwarded-for"),
        settings.trustedHops,
      ),
  };
  const perKey = createRateLimiter(settings.rateLimits.perKey);
  const syncOrAdmin = requireKey(parts, perKey, { scopes: ["sync", "admin"] });

  const app = new Hono<CloudEnv>();
  app.use(async (context, next) => {
    const requestId = newId(ports);
    context.set("requestId", requestId);
    const startedAt = performance.now();
    await next();
    context.header("x-request-id", requestId);
    context.header("x-content-type-options", "nosniff");
    if (!context.res.headers.has("cache-control")) context.header("cache-control", "no-store");
    const answered = {
      method: context.req.method,
      // The last pattern that matched: the route's own, or one for all where there is no such route.
      route: routePath(context, -1),
      status: context.res.status,
    };
    const durationMs = performance.now() - startedAt;
    ports.metrics?.requestAnswered({ ...answered, durationMs });
    const duration_ms = Math.round(durationMs);
    ports.log({ event: "cloud.request_answered", request_id: requestId, ...answered, duration_ms });
  });

  app.post("/v1/requests/batch", syncOrAdmin, (context) => postBatch(parts, context));
  app.post("/v1/requests/:id/body", syncOrAdmin, (context) => postBody(parts, context));
  app.get("/v1/daemon/whoami", syncOrAdmin, (context) => getWhoami(parts, context));
  // A key may always be given back, also by a machine that is blocked or of a workspace that is gone.
  app.delete(
    "/v1/daemon/key",
    requireKey(parts, perKey, { scopes: ["sync", "admin"], inService: false }),
    (context) => deleteKey(parts, context),
  );
  app.get("/v1/pricing/rates", syncOrAdmin, (context) => getRates(parts, context));
  app.get("/v1/reconciliation/daemon-totals", syncOrAdmin, (context) => getDaemonTotals(parts, context));

  const perStart = createRateLimiter(settings.rateLimits.pairingPerAddress);
  const perPoll = createRateLimiter(settings.rateLimits.pollPerAddress);
  app.post("/v1/pairing/start", (context) => postPairingStart(parts, perStart, context));
  app.post("/v1/pairing/poll", (context) => postPairingPoll(parts, perPoll, context));

  const perUser = createRateLimiter(settings.rateLimits.perUser);
  registerReadRoutes(app, parts, perUser);
  registerPeopleRoutes(app, parts, perUser);

  registerPages(app, parts);

  app.get("/openapi.json", (context) => context.json(openApiDocument(settings.baseUrl)));

  app.notFound(answerNotFound);
  app.onError((error, context) => {
    const { answer, reason, code } = problemOf(error);
    ports.log({
      event: "cloud.request_failed",
      request_id: context.get("requestId"),
      method: context.req.method,
      // The pattern, not the path: that is the client's text.
      route: context.req.routePath,
      reason,
      code,
    });
    return answer;
  });
  return app;
}
