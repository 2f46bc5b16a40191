import { usedPercent } from "../../../core/budgets/describe-budget.ts";
import { type BudgetInput, toBudgetInput } from "../../../core/budgets/parse-budget.ts";
import {
  type FleetSubject,
  MAX_FLEET_BUDGETS,
  parseFleetBudget,
} from "../../../core/budgets/parse-fleet-budget.ts";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";
import { isUuid } from "../../../core/values/uuid.ts";
import type { FleetBudget, FleetBudgetTerms } from "../../../core/wire/fleet-budgets.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { type BudgetStanding, readStandings, toStatedBudget, usedOf } from "../../budgets/budget-standing.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import { newId } from "../../new-id.ts";
import type { CloudParts } from "../../ports.ts";
import {
  changeBudgetTerms,
  createBudget,
  listBudgets,
  listOwnMachines,
  markBudget,
  removeBudget,
} from "../../store/budgets.ts";
import { listMachines } from "../../store/machines.ts";
import { inScope } from "../../store/transaction.ts";
import { findWorkspaceAccess, type WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiCall, ApiHandlers } from "../api-call.ts";
import { readNames } from "../reads/read-names.ts";

/** The routes of a workspace's budgets. */
export const budgetHandlers = {
  /** Members see the budgets that bind them, and administrators all. */
  "GET /v1/workspaces/:ws/budgets": async ({ parts, actor, workspace, answer }) => {
    const { workspaceId, role } = workspace;
    const { userId } = actor;
    const standings = await inScope(parts.db, { workspaceId }, async (trx) => {
      const reader =
        role === "admin" ? null : { userId, machineIds: await listOwnMachines(trx, workspaceId, userId) };
      const budgets = await listBudgets(trx, workspaceId, reader);
      return await readStandings(trx, workspaceId, budgets, null, parts.clock.now());
    });
    const names = await readTargetNames(parts, workspaceId, standings);
    return answer(200, { items: standings.map((standing) => toItem(standing, names)) });
  },

  "POST /v1/workspaces/:ws/budgets": async ({ parts, actor, workspace, body, answer }) => {
    const { workspaceId } = workspace;
    const { name, subject, ...terms } = body;
    const parsed = parseTerms(name, terms, workspace);
    if (!parsed.ok) return parsed.refusal;
    const target = await findTarget(parts, workspaceId, subject, body.target);
    if (!target.ok) return target.refusal;
    const id = newId(parts);
    const fresh = {
      ...{ budgetId: id, name: `${parsed.value.name}`, subject, target: target.value },
      terms: parsed.value,
    };
    const change = { userId: actor.userId, now: parts.clock.now() };
    const created = await createBudget(parts.db, workspaceId, fresh, MAX_FLEET_BUDGETS, change);
    return created === "created" ? answer(201, { id }) : problem(created);
  },

  "PATCH /v1/workspaces/:ws/budgets/:id": async ({ parts, actor, workspace, params, body, answer }) => {
    const parsed = parseTerms("any", body, workspace);
    if (!parsed.ok) return parsed.refusal;
    const change = { userId: actor.userId, now: parts.clock.now() };
    const found =
      isUuid(params.id) &&
      (await changeBudgetTerms(parts.db, workspace.workspaceId, params.id, parsed.value, change));
    return found ? answer(204) : problem("not_found");
  },

  "POST /v1/workspaces/:ws/budgets/:id/pause": (call) => mark(call, { isPaused: true, liftedUntil: null }),

  /** Ends a pause or a lift. */
  "POST /v1/workspaces/:ws/budgets/:id/resume": (call) => mark(call, { isPaused: false, liftedUntil: null }),

  /** A budget that is paused stays paused after the lift, as on a machine. */
  "POST /v1/workspaces/:ws/budgets/:id/lift": (call) => {
    const liftedUntil = call.parts.clock.now() + call.body.minutes * 60_000;
    return mark(call, { liftedUntil, reason: call.body.reason });
  },

  "DELETE /v1/workspaces/:ws/budgets/:id": async ({ parts, actor, workspace, params, answer }) => {
    const change = { userId: actor.userId, now: parts.clock.now() };
    const found =
      isUuid(params.id) && (await removeBudget(parts.db, workspace.workspaceId, params.id, change));
    return found ? answer(204) : problem("not_found");
  },
} satisfies Partial<ApiHandlers>;

async function mark(
  { parts, actor, workspace, params, answer }: ApiCall<"POST /v1/workspaces/:ws/budgets/:id/pause">,
  marks: {
    readonly isPaused?: boolean;
    readonly liftedUntil: number | null;
    readonly reason?: string | null;
  },
): Promise<Response> {
  const { isPaused, liftedUntil, reason = null } = marks;
  const kind = isPaused ? "budget_paused" : liftedUntil === null ? "budget_resumed" : "budget_lifted";
  const details = liftedUntil === null ? {} : { until: formatInstant(liftedUntil), reason };
  const change = { userId: actor.userId, now: parts.clock.now() };
  const found =
    isUuid(params.id) &&
    (await markBudget(
      parts.db,
      workspace.workspaceId,
      params.id,
      { isPaused, liftedUntil },
      [kind, details],
      change,
    ));
  return found ? answer(204) : problem("not_found");
}

/** Parses the terms of a budget; its periods are in the workspace's zone unless they name one. */
function parseTerms(
  name: string,
  { amount, period, zone, thresholds, at_limit, reserve, fail }: FleetBudgetTerms,
  { reportingZone }: WorkspaceAccess,
): OrRefusal<BudgetInput> {
  const stated = { name, amount, period, zone: zone ?? undefined, thresholds, at_limit, reserve, fail };
  const parsed = parseFleetBudget(
    Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined)),
    { zone: reportingZone },
  );
  if (parsed.ok) return { ok: true, value: toBudgetInput(parsed.budget) };
  const errors = [{ field: parsed.key, problem: parsed.problem }];
  return { ok: false, refusal: problem("wrong_shape", { errors }) };
}

/** Checks what a budget is for. A project need not have requests yet. */
async function findTarget(
  parts: CloudParts,
  workspaceId: string,
  subject: FleetSubject,
  target: string | null,
): Promise<OrRefusal<string | null>> {
  const refuse = (text: string) => {
    const errors = [{ field: "target", problem: text }];
    return { ok: false, refusal: problem("wrong_shape", { errors }) } as const;
  };
  if (subject === "workspace")
    return target === null ? { ok: true, value: null } : refuse("must be null for the workspace");
  if (target === null) return refuse(`must name the ${subject}`);
  if (subject === "project") {
    const slug = normaliseSlug(target);
    return slug === "" ? refuse("must be the name of a project") : { ok: true, value: slug };
  }
  if (subject === "person") {
    const access = await findWorkspaceAccess(parts.db, target, workspaceId);
    return access === null ? { ok: false, refusal: problem("member_unknown") } : { ok: true, value: target };
  }
  const id = target.toLowerCase();
  const machines = isUuid(id) ? await listMachines(parts.db, workspaceId) : [];
  return machines.some(({ machineId }) => machineId === id)
    ? { ok: true, value: id }
    : refuse("must be the id of a machine of the workspace");
}

/** Returns the names of the people and machines that budgets are for, by their ids. */
async function readTargetNames(
  { db, accounts }: CloudParts,
  workspaceId: string,
  standings: readonly BudgetStanding[],
): Promise<ReadonlyMap<string, string>> {
  const targetsOf = (subject: FleetSubject) =>
    standings.flatMap(({ stored }) => (stored.subject === subject ? [stored.target ?? ""] : []));
  const people = await readNames(accounts, targetsOf("person"));
  if (targetsOf("machine").length === 0) return people;
  const machines = await listMachines(db, workspaceId);
  return new Map([
    ...people,
    ...machines.map(({ machineId, label, hostname }) => [machineId, label ?? hostname] as const),
  ]);
}

function toItem(standing: BudgetStanding, names: ReadonlyMap<string, string>): FleetBudget {
  const { stored, budget, bounds, totals } = standing;
  const used = usedOf(standing);
  const isNamed = stored.subject === "person" || stored.subject === "machine";
  return {
    id: stored.budgetId,
    ...toStatedBudget(standing),
    target_name: isNamed ? (names.get(stored.target ?? "") ?? null) : null,
    unit: budget.unit,
    limit: `${budget.limit}`,
    spent: `${used}`,
    used_percent: usedPercent(budget.limit, used),
    period_to: formatInstantOrNull(bounds.to),
    calls: totals.calls,
    unpriced_calls: totals.unpricedCalls,
  };
}
