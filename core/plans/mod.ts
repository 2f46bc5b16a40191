/**
 * What a workspace's plan may do, in one table: windows, and features behind a tier gate. Nothing else in the tree
 * compares plans.
 *
 * ```ts
 * import { checkPlan, PLAN_TABLE } from "./mod.ts";
 *
 * checkPlan("team", "readPromptViews"); // { ok: false, reason: "plan_required", requiredPlan: "business" }
 * PLAN_TABLE.solo.tracesWindowDays; // 7
 * ```
 *
 * @module
 */
export { isPlan, PLANS, type Plan } from "./plan.ts";
export {
  checkPlan,
  PLAN_TABLE,
  type PlanFeature,
  type PlanRights,
  type PlanVerdict,
  requiredPlan,
} from "./plan-table.ts";
