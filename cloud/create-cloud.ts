import { type Context, Hono, type Next } from "hono";
import { routePath } from "hono/route";
import { openApiDocument } from "./api/open-api.ts";
import type { CloudSettings } from "./config.ts";
import { createParts } from "./create-parts.ts";
import { logFailure } from "./http/log-failure.ts";
import { newId } from "./new-id.ts";
import { answerNotFound, registerPages } from "./pages/register-pages.ts";
import type { CloudEnv, CloudPorts } from "./ports.ts";
import { mountApi } from "./routes/mount-api.ts";
import { handleAuth } from "./routes/people/sign-in.ts";

/** Creates the cloud as a Hono app; serve its `fetch`. The database must be migrated and its rates seeded. */
export function createCloud(ports: CloudPorts, config: CloudSettings = {}): Hono<CloudEnv> {
  const parts = createParts(ports, config);
  const app = new Hono<CloudEnv>();
  app.use((context, next) => reportRequest(ports, context, next));
  mountApi(app, parts);
  app.on(["GET", "POST"], "/api/auth/*", (context) => handleAuth(parts, context));
  registerPages(app, parts);
  app.get("/openapi.json", (context) => context.json(openApiDocument(parts.config.baseUrl)));
  app.notFound(answerNotFound);
  app.onError((error, context) => logFailure(ports, error, context));
  return app;
}

/** Gives a request its id, sets the headers of every answer, and logs and counts the answer. */
async function reportRequest(ports: CloudPorts, context: Context<CloudEnv>, next: Next): Promise<void> {
  const requestId = newId(ports);
  context.set("requestId", requestId);
  const startedAt = performance.now();
  await next();
  context.header("x-request-id", requestId);
  context.header("x-content-type-options", "nosniff");
  if (!context.res.headers.has("cache-control")) context.header("cache-control", "no-store");
  const answered = {
    method: context.req.method,
    // The last pattern that matched: the route's own, or a wildcard if no route matched.
    route: routePath(context, -1),
    status: context.res.status,
  };
  const durationMs = performance.now() - startedAt;
  ports.metrics?.requestAnswered({ ...answered, durationMs });
  const duration_ms = Math.round(durationMs);
  ports.log({ event: "cloud.request_answered", request_id: requestId, ...answered, duration_ms });
}
