import type { Transaction } from "kysely";
import type { BudgetInput } from "../../core/budgets/parse-budget.ts";
import type { FleetSubject } from "../../core/budgets/parse-fleet-budget.ts";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { type AuditEventKind, addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope, lockWorkspace } from "./transaction.ts";

/** A budget of a workspace. */
export interface StoredBudget {
  readonly budgetId: string;
  readonly name: string;
  readonly subject: FleetSubject;
  /** The project, the id of the person or that of the machine; null for the workspace. */
  readonly target: string | null;
  readonly terms: BudgetInput;
  readonly isPaused: boolean;
  readonly liftedUntil: Millis | null;
}

/** A machine and the person who uses it. */
export interface BudgetReader {
  readonly userId: string;
  readonly machineIds: readonly string[];
}

/** Lists the budgets of a workspace by name: all, or those that bind the person and their machines. */
export async function listBudgets(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  reader: BudgetReader | null,
): Promise<readonly StoredBudget[]> {
  const rows = await trx
    .selectFrom("budgets")
    .select(["budget_id", "name", "subject", "target", "terms", "is_paused", "lifted_until"])
    .where("workspace_id", "=", workspaceId)
    .$if(reader !== null, (query) =>
      query.where(({ or, and, eb }) =>
        or([
          eb("subject", "in", ["workspace", "project"]),
          and([eb("subject", "=", "person"), eb("target", "=", reader?.userId ?? "")]),
          and([eb("subject", "=", "machine"), eb("target", "in", ["", ...(reader?.machineIds ?? [])])]),
        ]),
      ),
    )
    .orderBy("name")
    .execute();
  return rows.map((row) => ({
    budgetId: row.budget_id,
    name: row.name,
    subject: row.subject,
    target: row.target === "" ? null : row.target,
    terms: JSON.parse(row.terms) as BudgetInput,
    isPaused: row.is_paused,
    liftedUntil: row.lifted_until,
  }));
}

/** Returns the ids of the machines that a person uses. */
export async function listOwnMachines(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  userId: string,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("machines")
    .select("machine_id")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .execute();
  return rows.map((row) => row.machine_id);
}

/** A new budget. */
export type BudgetToCreate = Pick<StoredBudget, "budgetId" | "name" | "subject" | "target" | "terms">;

/**
 * Creates a budget. Concurrent creations wait for each other at the workspace's row, so the number is exact.
 * `budget_exists`: the workspace has one of that name.
 */
export async function createBudget(
  db: CloudDatabase,
  workspaceId: string,
  fresh: BudgetToCreate,
  max: number,
  change: Change,
): Promise<"created" | "budget_exists" | "too_many_budgets"> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    await lockWorkspace(trx, workspaceId);
    const names = await trx
      .selectFrom("budgets")
      .select("name")
      .where("workspace_id", "=", workspaceId)
      .execute();
    if (names.some(({ name }) => name === fresh.name)) return "budget_exists";
    if (names.length >= max) return "too_many_budgets";
    await trx
      .insertInto("budgets")
      .values({
        workspace_id: workspaceId,
        budget_id: fresh.budgetId,
        name: fresh.name,
        subject: fresh.subject,
        target: fresh.target ?? "",
        terms: JSON.stringify(fresh.terms),
        is_paused: false,
        lifted_until: null,
        created_by: change.userId ?? "",
        created_at: change.now,
      })
      .execute();
    const { name, subject, target } = fresh;
    const details = { ...detailsOf(fresh.budgetId, name), subject, target, ...termDetails(fresh.terms) };
    await addAuditEvent(trx, workspaceId, "budget_created", change, details);
    return "created";
  });
}

/** What changes about a budget, besides its terms. */
type BudgetMarks = {
  /** Undefined: a pause stays. */
  readonly isPaused?: boolean | undefined;
  readonly liftedUntil: Millis | null;
};

/** Replaces the terms of a budget. False: there is none. */
export const changeBudgetTerms = (
  db: CloudDatabase,
  workspaceId: string,
  budgetId: string,
  terms: BudgetInput,
  change: Change,
): Promise<boolean> =>
  withBudget(db, workspaceId, budgetId, change, async (trx, { terms: before }) => {
    const after = JSON.stringify({ ...terms, name: undefined });
    if (after === JSON.stringify({ ...before, name: undefined })) return null;
    await updateOne(
      trx
        .updateTable("budgets")
        .set({ terms: JSON.stringify(terms) })
        .where("workspace_id", "=", workspaceId)
        .where("budget_id", "=", budgetId),
    );
    return ["budget_changed", { ...termDetails(terms), ...termDetails(before, "_before") }];
  });

/** Pauses, resumes or lifts a budget. False: there is none. */
export const markBudget = (
  db: CloudDatabase,
  workspaceId: string,
  budgetId: string,
  { isPaused, liftedUntil }: BudgetMarks,
  [kind, details]: AuditedChange,
  change: Change,
): Promise<boolean> =>
  withBudget(db, workspaceId, budgetId, change, async (trx) => {
    await updateOne(
      trx
        .updateTable("budgets")
        .set({ ...(isPaused !== undefined && { is_paused: isPaused }), lifted_until: liftedUntil })
        .where("workspace_id", "=", workspaceId)
        .where("budget_id", "=", budgetId),
    );
    return [kind, details];
  });

/** Removes a budget with its warnings. False: there is none. */
export const removeBudget = (
  db: CloudDatabase,
  workspaceId: string,
  budgetId: string,
  change: Change,
): Promise<boolean> =>
  withBudget(db, workspaceId, budgetId, change, async (trx, { terms }) => {
    for (const table of ["budget_warnings", "budgets"] as const)
      await trx
        .deleteFrom(table)
        .where("workspace_id", "=", workspaceId)
        .where("budget_id", "=", budgetId)
        .execute();
    return ["budget_removed", termDetails(terms)];
  });

/** The kind of an audit event with its details. */
type AuditedChange = readonly [kind: AuditEventKind, details: Readonly<Record<string, Detail>>];
type Detail = string | number | boolean | null;

/** Locks a budget, changes it and records the event that `work` returns; null: nothing changed. */
async function withBudget(
  db: CloudDatabase,
  workspaceId: string,
  budgetId: string,
  change: Change,
  work: (trx: Transaction<CloudSchema>, budget: { terms: BudgetInput }) => Promise<AuditedChange | null>,
): Promise<boolean> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const row = await trx
      .selectFrom("budgets")
      .select(["name", "terms"])
      .where("workspace_id", "=", workspaceId)
      .where("budget_id", "=", budgetId)
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined) return false;
    const changed = await work(trx, { terms: JSON.parse(row.terms) as BudgetInput });
    if (changed === null) return true;
    const [kind, details] = changed;
    await addAuditEvent(trx, workspaceId, kind, change, { ...detailsOf(budgetId, row.name), ...details });
    return true;
  });
}

const detailsOf = (budgetId: string, name: string) => ({ budget_id: budgetId, name });

/** The terms as the details of an audit event, which are flat. */
const termDetails = (terms: BudgetInput, suffix = ""): Record<string, Detail> =>
  Object.fromEntries(
    Object.entries(terms).flatMap(([key, value]): [string, Detail][] =>
      key === "name" ? [] : [[`${key}${suffix}`, Array.isArray(value) ? value.join(",") : (value as Detail)]],
    ),
  );
