import type { Plan } from "../../core/values/plan.ts";

/** Display names of the plans. */
export const PLAN_NAMES = {
  solo: "Solo",
  team: "Team",
  business: "Business+",
  enterprise: "Enterprise",
} as const satisfies Record<Plan, string>;
