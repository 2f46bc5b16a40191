import type { Plan } from "../../values/plan.ts";
import { DAY_MS, type Millis } from "../../values/time.ts";
import { PLAN_TABLE } from "../plans/plan-table.ts";

/** An endpoint that reads a period. */
export type ReadEndpoint =
  | "traces"
  | "analytics"
  | "overview"
  | "optimisation"
  | "prompt_views"
  | "audit_events"
  | "audit_requests";

/** How far back an endpoint reads, and what happens to a period that begins earlier. */
interface WindowRule {
  /** The workspace setting that limits it. */
  readonly retention: "dataRetentionDays" | "auditLogRetentionDays";
  /** The plan's limit, if it has one. */
  readonly planBound: "tracesWindowDays" | "optimisationMaxDays" | null;
  /** Whether a period that starts before the floor is refused (400) or its `from` is moved to the floor. */
  readonly pastFloor: "refuse" | "clamp";
  /** The length of a period without `from`, days. It starts at the floor if that is later. */
  readonly defaultDays: number;
}

/**
 * The rule of each endpoint. Source: docs/specification.md#errors (400 for analytics and traces; overview and optimisation
 * clamp) and "Limits"; docs/specification.md#reading (optimisation: 90 days unless asked) and "Cloud: people, keys, plans"
 * (ledger and audit events are clamped). Decision: other periods default to 30 days, the longest traces window.
 */
export const WINDOW_TABLE: Readonly<Record<ReadEndpoint, WindowRule>> = {
  traces: {
    retention: "dataRetentionDays",
    planBound: "tracesWindowDays",
    pastFloor: "refuse",
    defaultDays: 30,
  },
  analytics: { retention: "dataRetentionDays", planBound: null, pastFloor: "refuse", defaultDays: 30 },
  overview: { retention: "dataRetentionDays", planBound: null, pastFloor: "clamp", defaultDays: 30 },
  optimisation: {
    retention: "dataRetentionDays",
    planBound: "optimisationMaxDays",
    pastFloor: "clamp",
    defaultDays: 90,
  },
  prompt_views: { retention: "auditLogRetentionDays", planBound: null, pastFloor: "clamp", defaultDays: 30 },
  audit_events: { retention: "auditLogRetentionDays", planBound: null, pastFloor: "clamp", defaultDays: 30 },
  audit_requests: {
    retention: "auditLogRetentionDays",
    planBound: null,
    pastFloor: "clamp",
    defaultDays: 30,
  },
};

/** What determines how far back a workspace can read. */
export interface ReachFacts {
  readonly now: Millis;
  readonly plan: Plan;
  readonly dataRetentionDays: number;
  readonly auditLogRetentionDays: number;
}

/** A half-open period `[from, to)`, UTC. */
export interface UtcPeriod {
  readonly from: Millis;
  readonly to: Millis;
}

/** The period to read, or why it is refused. */
export type WindowVerdict =
  /** `clampedFrom` is the requested `from` if it was moved, otherwise `null`. */
  | ({ readonly ok: true; readonly clampedFrom: Millis | null } & UtcPeriod)
  | { readonly ok: false; readonly reason: "period_before_floor"; readonly floor: Millis }
  | { readonly ok: false; readonly reason: "period_reversed" };

/** Returns the earliest instant that an endpoint reads, inclusive. */
export function retentionFloor(endpoint: ReadEndpoint, facts: ReachFacts): Millis {
  const { retention, planBound } = WINDOW_TABLE[endpoint];
  const planDays = planBound === null ? null : PLAN_TABLE[facts.plan][planBound];
  return facts.now - Math.min(facts[retention], planDays ?? Number.POSITIVE_INFINITY) * DAY_MS;
}

/**
 * Whether an instant is not before the floor. A trace before the floor is a 404. Decision: a trace's body has the floor of
 * `traces`, which includes the plan's limit, since older requests are shown as metadata only.
 */
export function isWithinReach(at: Millis, endpoint: ReadEndpoint, facts: ReachFacts): boolean {
  return at >= retentionFloor(endpoint, facts);
}

/**
 * Applies the floor to a period: refuses or clamps it, according to the endpoint's rule. A period that ends before the floor
 * becomes an empty one at the floor.
 */
export function clampWindow(endpoint: ReadEndpoint, asked: UtcPeriod, facts: ReachFacts): WindowVerdict {
  const { from, to } = asked;
  if (from > to) return { ok: false, reason: "period_reversed" };
  const floor = retentionFloor(endpoint, facts);
  if (from >= floor) return { ok: true, from, to, clampedFrom: null };
  if (WINDOW_TABLE[endpoint].pastFloor === "refuse") {
    return { ok: false, reason: "period_before_floor", floor };
  }
  return { ok: true, from: floor, to: Math.max(to, floor), clampedFrom: from };
}

/** Returns the `from` of a query without one: the default length before `to`, but not before the floor unless `to` is. */
export function defaultFrom(endpoint: ReadEndpoint, to: Millis, facts: ReachFacts): Millis {
  const floor = retentionFloor(endpoint, facts);
  const from = to - WINDOW_TABLE[endpoint].defaultDays * DAY_MS;
  return to < floor ? from : Math.max(from, floor);
}
