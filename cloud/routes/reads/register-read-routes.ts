import type { Hono } from "hono";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import type { RateLimiter } from "../../rate-limiter.ts";
import { requireActor } from "../../require-actor.ts";
import { requireWorkspace } from "../../require-workspace.ts";
import { getAuditEvents, getPromptViews } from "./audit.ts";
import { getCheckoutWording, postCheckoutConsent } from "./checkout-consent.ts";
import { getOptimisation } from "./optimisation.ts";
import { postPromptView } from "./prompt-views.ts";
import { getAnalytics, getOverview } from "./reports.ts";
import { getTraceBody } from "./trace-body.ts";
import { getTrace, getTraces } from "./traces.ts";

/**
 * Every endpoint by which people read, and the two records that they leave by reading and subscribing. Decision: members
 * see their workspace's metadata, the Audit surface's requests among them; the ledger and the audit events, which hold
 * other people's reasons and addresses, are for admins.
 */
export function registerReadRoutes(app: Hono<CloudEnv>, parts: CloudParts, perUser: RateLimiter): void {
  const actor = requireActor(parts, perUser);
  const inPerson = requireActor(parts, perUser, { sessionOnly: true });
  const member = requireWorkspace(parts);
  const surface = requireWorkspace(parts, { feature: "auditSurface" });
  const events = requireWorkspace(parts, { role: "admin", feature: "auditSurface" });
  const ledger = requireWorkspace(parts, { role: "admin", feature: "readPromptViews" });

  app.get("/v1/workspaces/:ws/overview", actor, member, (context) => getOverview(parts, context));
  app.get("/v1/workspaces/:ws/analytics", actor, member, (context) => getAnalytics(parts, context));
  app.get("/v1/workspaces/:ws/optimisation", actor, member, (context) => getOptimisation(parts, context));
  app.get("/v1/workspaces/:ws/traces", actor, member, (context) => getTraces(parts, "traces", context));
  app.get("/v1/workspaces/:ws/traces/:request_id", actor, member, (context) => getTrace(parts, context));
  app.get("/v1/workspaces/:ws/audit/requests", actor, surface, (context) =>
    getTraces(parts, "audit_requests", context),
  );
  app.get("/v1/workspaces/:ws/audit/events", actor, events, (context) => getAuditEvents(parts, context));
  app.get("/v1/workspaces/:ws/audit/prompt-views", actor, ledger, (context) =>
    getPromptViews(parts, context),
  );

  app.get("/v1/traces/:request_id/body", actor, (context) => getTraceBody(parts, context));
  app.post("/v1/audit/prompt-views", actor, (context) => postPromptView(parts, context));
  app.get("/v1/consent/checkout", (context) => getCheckoutWording(parts, context));
  app.post("/v1/consent/checkout", inPerson, (context) => postCheckoutConsent(parts, context));
}
