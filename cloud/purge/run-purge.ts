import type { Accounts } from "../../core/ports/accounts.ts";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { PURGE_DELAY_MS } from "../../core/privacy/deletion/soft-deletion.ts";
import { collectErrors } from "../collect-errors.ts";
import { addErased, type ErasedRows, readErased } from "../store/erased-rows.ts";
import { destroyKeys } from "../store/erasures.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import {
  finishAccount,
  finishWorkspacePurge,
  listDeleted,
  listDeletedWithAccount,
  listUnclosedAccounts,
  markClosed,
  type PurgeStep,
  type PurgeSubject,
  purgeAccountIn,
  purgeEnded,
  purgeOrganisation,
  purgeWorkspace,
  workspacesOfPerson,
} from "../store/purge.ts";
import { resumeTasks } from "../store/resume-tasks.ts";

/** The purge's dependencies. */
export interface PurgeParts {
  readonly db: CloudDatabase;
  readonly clock: Pick<Clock, "now">;
  readonly accounts: Pick<Accounts, "deleteUser" | "eraseUser">;
  /** The store of the body keys, which are destroyed before the bodies are deleted. */
  readonly bodyKeys?: BodyKeyStore;
}

/** The result of one run of the purge. */
export interface PurgeReport {
  readonly erased: readonly PurgeSubject[];
  /** Subjects that are not fully erased: the run's budget was used up, or another process is erasing them. */
  readonly left: readonly PurgeSubject[];
  readonly rows: number;
}

/** Most transactions per run of the job. Decision: a run takes seconds, so that a stop never waits long. */
export const PURGE_MAX_STEPS = 200;

/** Lists the deleted subjects whose 30 days are over. */
export async function listDue(parts: Pick<PurgeParts, "db" | "clock">): Promise<readonly PurgeSubject[]> {
  return await listDeleted(parts.db, parts.clock.now() - PURGE_DELAY_MS);
}

/** Finds a deleted subject by its id, due or not. For an account, lists what was deleted with it first. Empty if there is none. */
export async function listDeletedSubject(
  { db, clock }: Pick<PurgeParts, "db" | "clock">,
  id: string,
): Promise<readonly PurgeSubject[]> {
  const subject = (await listDeleted(db, clock.now())).find((each) => each.id === id);
  if (subject === undefined) return [];
  return subject.kind === "account" ? [...(await listDeletedWithAccount(db, id)), subject] : [subject];
}

/**
 * Erases the given subjects, or else those that are due, in small transactions. Safe to run in several processes at once and
 * to interrupt at any point: the next run continues. If something fails, the rest is erased, and the first error is thrown at the end.
 */
export async function runPurge(
  parts: PurgeParts,
  options: {
    readonly subjects?: readonly PurgeSubject[];
    readonly maxSteps?: number;
    readonly isStopped?: () => boolean;
  } = {},
): Promise<PurgeReport> {
  const { errors, ...report } = await purgeEach(parts, options);
  if (errors.length > 0) throw errors[0];
  return report;
}

/** Erases as `runPurge()` does, and returns the errors with what was erased. A subject that failed is not among those that are left. */
export async function purgeEach(
  parts: PurgeParts,
  options: NonNullable<Parameters<typeof runPurge>[1]>,
): Promise<PurgeReport & { readonly errors: readonly unknown[] }> {
  const { db, clock, accounts } = parts;
  const budget = { left: options.maxSteps ?? Number.POSITIVE_INFINITY, rows: 0 };
  const { errors, attempt } = collectErrors();
  await attempt(async () => {
    for (const userId of await listUnclosedAccounts(db))
      await attempt(async () => {
        await accounts.deleteUser(userId);
        await markClosed(db, userId, clock.now());
      });
  });
  await attempt(() => resumeTasks(db, clock.now()));
  if (options.subjects === undefined)
    await attempt(async () => {
      budget.rows += await purgeEnded(db, clock.now());
    });
  const erased: PurgeSubject[] = [];
  const left: PurgeSubject[] = [];
  await attempt(async () => {
    for (const subject of options.subjects ?? (await listDue(parts)))
      await attempt(async () => {
        const isDone =
          budget.left > 0 && options.isStopped?.() !== true && (await erase(parts, subject, budget, options));
        (isDone ? erased : left).push(subject);
      });
  });
  return { erased, left, rows: budget.rows, errors };
}

interface Budget {
  left: number;
  rows: number;
}

async function erase(
  parts: PurgeParts,
  { kind, id }: PurgeSubject,
  budget: Budget,
  { isStopped = () => false }: { readonly isStopped?: () => boolean },
): Promise<boolean> {
  const { db, clock, accounts, bodyKeys = null } = parts;
  const now = clock.now();
  const toEnd = async (step: () => Promise<PurgeStep>): Promise<boolean> => {
    while (budget.left > 0 && !isStopped()) {
      const done = await step();
      if (done.kind === "busy") return false;
      // A step that erased nothing is free. Otherwise the purge of a person with more workspaces than a run has steps would
      // never finish.
      if (done.rows > 0) budget.left -= 1;
      budget.rows += done.rows;
      if (done.kind === "done") return true;
    }
    return false;
  };
  if (kind === "workspace") {
    await destroyKeys(db, bodyKeys, { workspaceId: id, userId: null, project: null }, now);
    if (!(await toEnd(() => purgeWorkspace(db, id, now)))) return false;
    return await finishWorkspacePurge(db, id, await readErased(db, id, id), now);
  }
  if (kind === "organisation") return await toEnd(() => purgeOrganisation(db, id, now));
  const erased: ErasedRows[] = [];
  for (const workspaceId of await workspacesOfPerson(db, id)) {
    const keys = await destroyKeys(db, bodyKeys, { workspaceId, userId: id, project: null }, now);
    if (!(await toEnd(() => purgeAccountIn(db, id, workspaceId, now)))) return false;
    erased.push({ keys: keys.length }, await readErased(db, workspaceId, id));
  }
  // Before the deletion is marked as done, so that a crash in between repeats it.
  await accounts.eraseUser(id);
  return await toEnd(() => finishAccount(db, id, addErased(erased), now));
}
