import { type ReachFacts, type ReadEndpoint, readPeriod } from "../../../core/retention/mod.ts";
import type { Millis } from "../../../core/time.ts";
import { formatInstant } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { Reading } from "../../read-payload.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";

/** A period that is answered for. */
export interface AnsweredPeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** The three fields as an answer states them. */
  readonly stated: { readonly from: string; readonly to: string; readonly clamped_from: string | null };
}

/** What decides how far back a workspace looks now. */
export function reachOf(workspace: WorkspaceAccess, now: Millis): ReachFacts {
  const { plan, dataRetentionDays, auditLogRetentionDays } = workspace;
  return { now, plan, dataRetentionDays, auditLogRetentionDays };
}

/** Reads a query's period and holds it against the workspace's floor: 400 below it or clamped, as the endpoint's rule says. */
export function readPeriodOf(
  endpoint: ReadEndpoint,
  query: { readonly from: string | null; readonly to: string | null },
  workspace: WorkspaceAccess,
  now: Millis,
): Reading<AnsweredPeriod> {
  const verdict = readPeriod(endpoint, query, reachOf(workspace, now));
  if (verdict.ok) {
    const { from, to, clampedFrom } = verdict;
    const stated = {
      from: formatInstant(from),
      to: formatInstant(to),
      clamped_from: clampedFrom === null ? null : formatInstant(clampedFrom),
    };
    return { ok: true, value: { from, to, stated } };
  }
  switch (verdict.reason) {
    case "period_before_floor":
      return { ok: false, refusal: problem(verdict.reason, { floor: verdict.floor }) };
    case "period_malformed": {
      const errors = [{ field: verdict.field, problem: "must be a date or a datetime of ISO 8601" }];
      return { ok: false, refusal: problem(verdict.reason, { errors }) };
    }
    case "period_reversed":
      return { ok: false, refusal: problem(verdict.reason) };
  }
}
