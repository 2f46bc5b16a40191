import { PLANS, type Plan } from "./plan.ts";

/** What a plan decides, row by row in `PLAN_TABLE`. */
export interface PlanRights {
  /** How far back the Traces endpoint reaches, days. Source: contract, "Limits", "Traces window". */
  readonly tracesWindowDays: number;
  /** The longest optimisation window, days; `null` for none but the retention's. Source: decisions, "Reading". */
  readonly optimisationMaxDays: number | null;
  /** Reading a teammate's stored body, as an admin. Source: decisions, "Bodies": on Solo only the author reads. */
  readonly readTeammatesBodies: boolean;
  /** `POST /v1/audit/prompt-views`. Source: contract, "Authentication", 7. */
  readonly writePromptViews: boolean;
  /** `GET …/audit/prompt-views`. Source: the same. */
  readonly readPromptViews: boolean;
  /** `GET|PATCH …/settings/advanced`. Source: the same. */
  readonly advancedSettings: boolean;
  /**
   * `GET …/audit/requests` and `…/audit/events`. Source: decisions, "Reading". Decision: the events belong to the Audit
   * surface and go with it.
   */
  readonly auditSurface: boolean;
}

/** The one table of what a plan may do. */
export const PLAN_TABLE: Readonly<Record<Plan, PlanRights>> = {
  solo: {
    tracesWindowDays: 7,
    optimisationMaxDays: 90,
    readTeammatesBodies: false,
    writePromptViews: false,
    readPromptViews: false,
    advancedSettings: false,
    auditSurface: false,
  },
  team: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: false,
    advancedSettings: false,
    auditSurface: false,
  },
  business: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: true,
    advancedSettings: true,
    auditSurface: true,
  },
  enterprise: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: true,
    advancedSettings: true,
    auditSurface: true,
  },
};

/** What a plan may or may not do. */
export type PlanFeature = {
  [Key in keyof PlanRights]: PlanRights[Key] extends boolean ? Key : never;
}[keyof PlanRights];

/** The answer of a tier gate; the refusal is a 403 `plan_required`. */
export type PlanVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: "plan_required"; readonly requiredPlan: Plan };

/** Whether a plan may use a feature, and if not, the smallest that may. */
export function checkPlan(plan: Plan, feature: PlanFeature): PlanVerdict {
  if (PLAN_TABLE[plan][feature]) return { ok: true };
  return { ok: false, reason: "plan_required", requiredPlan: requiredPlan(feature) };
}

/** The smallest plan that may use a feature. */
export function requiredPlan(feature: PlanFeature): Plan {
  return PLANS.find((plan) => PLAN_TABLE[plan][feature]) as Plan;
}
