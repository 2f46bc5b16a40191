import type { Millis } from "../../core/values/time.ts";
import { collectErrors } from "../collect-errors.ts";
import { sumBranches } from "./branch-sums.ts";
import { sumCoverage } from "./coverage-days.ts";
import { finishDeletion, finishLeaving } from "./deletions.ts";
import { finishAcceptance, forgetInvitation } from "./invitations.ts";
import { sumModels } from "./model-sums.ts";
import type { CloudDatabase } from "./open-database.ts";
import { finishRoleChange, finishWorkspace } from "./organisations.ts";
import { endTask, listDueTasks, postponeTask, RESUME_AFTER_MS, type Task, type TaskKind } from "./tasks.ts";

type Resume<K extends TaskKind> = (db: CloudDatabase, task: Task<K>, now: Millis) => Promise<unknown>;

/** How each kind of task is resumed. Erasures need the key store too: `continueErasures()`. */
const RESUME: { readonly [K in Exclude<TaskKind, "erase_prompts">]: Resume<K> } = {
  create_workspace: finishWorkspace,
  delete_workspace: finishDeletion,
  accept_invitation: finishAcceptance,
  change_organisation_role: (db, task) => finishRoleChange(db, task, true),
  leave_organisations: finishLeaving,
  sum_branches: sumBranches,
  sum_models: sumModels,
  sum_coverage: sumCoverage,
  forget_invitation: async (db, task, now) => {
    const dueAt = await forgetInvitation(db, task, now);
    await (dueAt === null ? endTask(db, task) : postponeTask(db, task, dueAt));
  },
};

/**
 * Resumes the tasks that are due: those whose process ended, and those that were planned for now. Several processes may do so at once. A
 * task that fails is due again later, so that such tasks don't take the places of all others in each run. The first error is thrown at the end.
 */
export async function resumeTasks(db: CloudDatabase, now: Millis): Promise<void> {
  const { errors, attempt } = collectErrors();
  for (const task of await listDueTasks(db, Object.keys(RESUME) as TaskKind[], now)) {
    const resume = RESUME[task.kind as keyof typeof RESUME] as Resume<TaskKind>;
    const isResumed = await attempt(async () => void (await resume(db, task, now)));
    if (!isResumed) await attempt(() => postponeTask(db, task, now + RESUME_AFTER_MS));
  }
  if (errors.length > 0) throw errors[0];
}
