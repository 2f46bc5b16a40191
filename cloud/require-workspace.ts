import type { MiddlewareHandler } from "hono";
import { checkPlan, type PlanFeature } from "../core/plans/mod.ts";
import { problem } from "./errors.ts";
import type { CloudEnv, CloudParts } from "./ports.ts";
import { findReachableWorkspace } from "./reachable-workspaces.ts";

/** What a route asks of the caller's standing in its workspace. */
export interface WorkspaceDemands {
  /** Default: `member`. */
  readonly role?: "member" | "admin";
  readonly feature?: PlanFeature;
}

/**
 * Lets a caller through to the workspace of the path (`:ws`) and puts it in the context; after `requireActor`. 404 for one
 * that is unknown, deleted, malformed or somebody else's, all alike; then 403 for the role; then 403 for the plan.
 */
export function requireWorkspace(
  parts: CloudParts,
  demands: WorkspaceDemands = {},
): MiddlewareHandler<CloudEnv> {
  return async (context, next) => {
    const { db } = parts;
    const access = await findReachableWorkspace(db, context.get("actor"), context.req.param("ws") ?? "");
    if (access === null) return problem("not_found");
    if (demands.role === "admin" && access.role !== "admin") return problem("forbidden");
    if (demands.feature !== undefined) {
      const verdict = checkPlan(access.plan, demands.feature);
      if (!verdict.ok) return problem("plan_required", { requiredPlan: verdict.requiredPlan });
    }
    context.set("workspace", access);
    return await next();
  };
}
