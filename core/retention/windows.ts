import { PLAN_TABLE, type Plan } from "../plans/mod.ts";
import type { Millis } from "../time.ts";

/** Milliseconds of a day, UTC. */
const DAY_MS = 86_400_000;

/** What answers for a period. */
export type ReadEndpoint =
  | "traces"
  | "analytics"
  | "overview"
  | "optimisation"
  | "prompt_views"
  | "audit_events"
  | "audit_requests";

/** How far back one endpoint reaches, and what happens to a period that begins earlier. */
export interface WindowRule {
  /** Which of the workspace's two settings bounds it. */
  readonly retention: "dataRetentionDays" | "auditLogRetentionDays";
  /** The plan's own bound, beside it. */
  readonly planBound: "tracesWindowDays" | "optimisationMaxDays" | null;
  /** A period past the floor is refused (400), or its `from` is clamped up to it. */
  readonly pastFloor: "refuse" | "clamp";
  /** The length of a period without `from`, days; it ends at the floor if that comes first. */
  readonly defaultDays: number;
}

/**
 * Which rule each endpoint has. Source: contract, "Errors" (400 for analytics and traces; overview and optimisation
 * clamp) and "Limits"; decisions, "Reading" (optimisation: 90 days unless asked) and "Cloud: people, keys, plans"
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

/** What decides how far back a workspace can look. */
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

/** The period that is answered for, or why none is. */
export type WindowVerdict =
  /** `clampedFrom` is the `from` that was asked for, `null` where it stands. */
  | ({ readonly ok: true; readonly clampedFrom: Millis | null } & UtcPeriod)
  | { readonly ok: false; readonly reason: "period_before_floor"; readonly floor: Millis }
  | { readonly ok: false; readonly reason: "period_reversed" };

/** The earliest instant that an endpoint reaches; what happened at exactly this instant is within reach. */
export function floorOf(endpoint: ReadEndpoint, facts: ReachFacts): Millis {
  const { retention, planBound } = WINDOW_TABLE[endpoint];
  const planDays = planBound === null ? null : PLAN_TABLE[facts.plan][planBound];
  return facts.now - Math.min(facts[retention], planDays ?? Number.POSITIVE_INFINITY) * DAY_MS;
}

/**
 * Whether one instant is within reach: a trace below the floor is a 404. Decision: a trace's body has the floor of
 * `traces`, not the retention's alone, since older requests are shown as metadata only.
 */
export function isWithinReach(at: Millis, endpoint: ReadEndpoint, facts: ReachFacts): boolean {
  return at >= floorOf(endpoint, facts);
}

/**
 * Holds a period against the floor: refused or clamped, as the endpoint's row says. A period that ends before the floor
 * clamps to an empty one at the floor.
 */
export function clampWindow(endpoint: ReadEndpoint, asked: UtcPeriod, facts: ReachFacts): WindowVerdict {
  const { from, to } = asked;
  if (from > to) return { ok: false, reason: "period_reversed" };
  const floor = floorOf(endpoint, facts);
  if (from >= floor) return { ok: true, from, to, clampedFrom: null };
  if (WINDOW_TABLE[endpoint].pastFloor === "refuse") {
    return { ok: false, reason: "period_before_floor", floor };
  }
  return { ok: true, from: floor, to: Math.max(to, floor), clampedFrom: from };
}

/** The `from` of a query without one: the endpoint's default length before `to`, but not before the floor if `to` is above. */
export function defaultFrom(endpoint: ReadEndpoint, to: Millis, facts: ReachFacts): Millis {
  const floor = floorOf(endpoint, facts);
  const from = to - WINDOW_TABLE[endpoint].defaultDays * DAY_MS;
  return to < floor ? from : Math.max(from, floor);
}
