import { readPeriod } from "../../../core/privacy/retention/read-period.ts";
import type { ReachFacts, ReadEndpoint } from "../../../core/privacy/retention/windows.ts";
import type { Millis } from "../../../core/values/time.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";

/** A query's period, after the retention floor was applied. */
export interface ParsedPeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** The three fields for the answer. */
  readonly stated: { readonly from: string; readonly to: string; readonly clamped_from: string | null };
}

/** Returns the facts that decide how far back a workspace's queries can go. */
export function reachOf(workspace: WorkspaceAccess, now: Millis): ReachFacts {
  const { plan, dataRetentionDays, auditLogRetentionDays } = workspace;
  return { now, plan, dataRetentionDays, auditLogRetentionDays };
}

/** Parses a query's period and applies the workspace's retention floor: clamps it or answers 400, by the endpoint's rule. */
export function parsePeriod(
  endpoint: ReadEndpoint,
  query: { readonly from: string | null; readonly to: string | null },
  workspace: WorkspaceAccess,
  now: Millis,
): OrRefusal<ParsedPeriod> {
  const verdict = readPeriod(endpoint, query, reachOf(workspace, now));
  if (verdict.ok) {
    const { from, to, clampedFrom } = verdict;
    const stated = {
      from: formatInstant(from),
      to: formatInstant(to),
      clamped_from: formatInstantOrNull(clampedFrom),
    };
    return { ok: true, value: { from, to, stated } };
  }
  switch (verdict.reason) {
    case "period_before_floor":
      return { ok: false, refusal: problem(verdict.reason, { floor: verdict.floor }) };
    case "period_malformed": {
      const errors = [{ field: verdict.field, problem: "must be an ISO 8601 date or datetime" }];
      return { ok: false, refusal: problem(verdict.reason, { errors }) };
    }
    case "period_reversed":
      return { ok: false, refusal: problem(verdict.reason) };
  }
}
