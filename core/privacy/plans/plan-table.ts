import { PLANS, type Plan } from "../../values/plan.ts";

/** The rights of a plan, as listed in `PLAN_TABLE`. */
export interface PlanRights {
  /** How far back the Traces endpoint reads, in days. Source: docs/specification.md#limits, "Traces window". */
  readonly tracesWindowDays: number;
  /** Maximum optimisation window, in days; `null` if only retention limits it. Source: docs/specification.md#reading. */
  readonly optimisationMaxDays: number | null;
  /**
   * Whether admins may read a teammate's stored body. Source: docs/specification.md#bodies: on Solo only the author reads.
   */
  readonly readTeammatesBodies: boolean;
  /** Access to `POST /v1/audit/prompt-views`. Source: docs/specification.md#cloud-accounts-and-keys, 7. */
  readonly writePromptViews: boolean;
  /** Access to `GET …/audit/prompt-views`. Same source. */
  readonly readPromptViews: boolean;
  /** Access to `GET|PATCH …/settings/advanced`. Same source. */
  readonly advancedSettings: boolean;
  /**
   * Access to `GET …/audit/requests` and `…/audit/events`. Source: docs/specification.md#reading. Decision: audit events
   * need the same right as audited requests.
   */
  readonly auditSurface: boolean;
  /**
   * Whether admins may set budgets for the workspace. Source: docs/specification.md#fleet-budgets. Every plan may pause, lift and
   * remove them, so that a workspace whose plan changed is not bound by what it can't change.
   */
  readonly fleetBudgets: boolean;
}

/** The rights of every plan. */
export const PLAN_TABLE: Readonly<Record<Plan, PlanRights>> = {
  solo: {
    tracesWindowDays: 7,
    optimisationMaxDays: 90,
    readTeammatesBodies: false,
    writePromptViews: false,
    readPromptViews: false,
    advancedSettings: false,
    auditSurface: false,
    fleetBudgets: false,
  },
  team: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: false,
    advancedSettings: false,
    auditSurface: false,
    fleetBudgets: true,
  },
  business: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: true,
    advancedSettings: true,
    auditSurface: true,
    fleetBudgets: true,
  },
  enterprise: {
    tracesWindowDays: 30,
    optimisationMaxDays: null,
    readTeammatesBodies: true,
    writePromptViews: true,
    readPromptViews: true,
    advancedSettings: true,
    auditSurface: true,
    fleetBudgets: true,
  },
};

/** A right that a plan has or lacks. */
export type PlanFeature = {
  [Key in keyof PlanRights]: PlanRights[Key] extends boolean ? Key : never;
}[keyof PlanRights];

/** Whether a plan has a feature. A refusal is a 403 `plan_required`. */
export type PlanVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: "plan_required"; readonly requiredPlan: Plan };

/** Whether a plan has a feature, and if not, the smallest plan that has it. */
export function checkPlan(plan: Plan, feature: PlanFeature): PlanVerdict {
  if (PLAN_TABLE[plan][feature]) return { ok: true };
  return { ok: false, reason: "plan_required", requiredPlan: requiredPlan(feature) };
}

/** Returns the smallest plan that has a feature. */
export function requiredPlan(feature: PlanFeature): Plan {
  return PLANS.find((plan) => PLAN_TABLE[plan][feature]) as Plan;
}
