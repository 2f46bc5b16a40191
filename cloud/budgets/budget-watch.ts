import { problemOf } from "../http/problem.ts";
import { listSettledWarnings, WARNING_RETRY_MS } from "../store/budget-warnings.ts";
import { listBudgets } from "../store/budgets.ts";
import { inScope } from "../store/transaction.ts";
import { readStandings } from "./budget-standing.ts";
import { createSumCache, type SumCache } from "./sum-cache.ts";
import { type WarnedWorkspace, type WarningParts, warnOfBudgets } from "./warn-of-budgets.ts";

/** How long after a change the thresholds are checked, milliseconds. Source: docs/specification.md#fleet-budgets. */
export const CHECK_DELAY_MS = 10_000;

/** Checks the thresholds of budgets in the background, so that no request waits for an email. */
export interface BudgetWatch {
  /** The sums that machines get. */
  readonly sums: SumCache;
  /** Reports that the sums of a workspace may have changed. Its thresholds are checked within `CHECK_DELAY_MS`. */
  note(workspace: WarnedWorkspace): void;
  /** Resolves when the check that runs now has ended. */
  settled(): Promise<void>;
  /** Ends the checks. Resolves when the one that runs now has ended. */
  stop(): Promise<void>;
}

interface WatchState {
  readonly parts: WarningParts;
  readonly sums: SumCache;
  /** The workspaces to check, by their id. */
  readonly noted: Map<string, WarnedWorkspace>;
  /** Cancels the next check; null if none is planned or running. */
  cancel: (() => void) | null;
  /** Each cancels the retry of a failed check. */
  readonly retries: Set<() => void>;
  running: Promise<void>;
  isStopped: boolean;
}

/**
 * Creates a watch. Several processes may each have one: a warning is claimed before it is sent, and confirmed afterwards. Workspaces that
 * were noted when a process ended are checked after the next records or the next request of a machine.
 */
export function createBudgetWatch(parts: WarningParts): BudgetWatch {
  const state: WatchState = {
    parts,
    sums: createSumCache(parts.clock),
    noted: new Map(),
    cancel: null,
    retries: new Set(),
    running: Promise.resolve(),
    isStopped: false,
  };
  return {
    sums: state.sums,
    note: (workspace) => note(state, workspace),
    settled: () => state.running,
    async stop() {
      state.isStopped = true;
      state.cancel?.();
      for (const cancel of state.retries) cancel();
      await state.running;
    },
  };
}

function note(state: WatchState, workspace: WarnedWorkspace): void {
  state.noted.set(workspace.workspaceId, workspace);
  plan(state);
}

function plan(state: WatchState): void {
  if (state.cancel !== null || state.isStopped) return;
  state.cancel = state.parts.clock.setTimer(CHECK_DELAY_MS, () => {
    state.running = state.running.then(() => checkAll(state));
  });
}

/** Checks a workspace again once its failed emails can be claimed again. */
function retry(state: WatchState, workspace: WarnedWorkspace): void {
  const cancel = state.parts.clock.setTimer(WARNING_RETRY_MS, () => {
    state.retries.delete(cancel);
    note(state, workspace);
  });
  state.retries.add(cancel);
}

/** Checks the noted workspaces one after the other. */
async function checkAll(state: WatchState): Promise<void> {
  const { noted, parts } = state;
  const workspaces = [...noted.values()];
  noted.clear();
  for (const workspace of workspaces) {
    if (state.isStopped) return;
    try {
      if (!(await check(state, workspace))) retry(state, workspace);
    } catch (error) {
      retry(state, workspace);
      const { reason, code } = problemOf(error);
      parts.log({ event: "cloud.budget_check_failed", reason, code });
    }
  }
  state.cancel = null;
  if (noted.size > 0) plan(state);
}

/** Returns whether all emails that were due were sent. */
async function check({ parts, sums }: WatchState, workspace: WarnedWorkspace): Promise<boolean> {
  const { workspaceId } = workspace;
  const now = parts.clock.now();
  const { standings, settled } = await inScope(parts.db, { workspaceId }, async (trx) => {
    const budgets = await listBudgets(trx, workspaceId, null);
    return {
      standings: await readStandings(trx, workspaceId, budgets, null, now, sums),
      settled: budgets.length === 0 ? new Set<string>() : await listSettledWarnings(trx, workspaceId, now),
    };
  });
  return await warnOfBudgets(parts, workspace, standings, settled);
}
