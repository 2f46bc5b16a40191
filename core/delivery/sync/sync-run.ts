import { BATCH_MAX_RECORDS } from "../../wire/metadata-batch.ts";
import type { Suspect, SyncRun } from "./sync-state.ts";

/** Number of the newest records that a run also selects after the cloud has refused the oldest. */
export const PROBE_MAX_RECORDS = 16;

/**
 * Refused batches after which a run backs off if none was delivered. Enough to reach the newest record of a full batch and of
 * a probe by halving, while every second batch is another part of the backlog.
 */
export const REFUSALS_PER_ROUND = 32;

/** Creates a run that waits for its records. */
export function createRun(requested: boolean): SyncRun {
  return {
    phase: "selecting",
    requested,
    full: false,
    inFlight: [],
    queue: [],
    refusals: 0,
    probed: false,
    newestId: null,
    suspects: [],
    deliveredId: null,
    checking: null,
    accepted: 0,
    duplicates: 0,
    quarantined: 0,
  };
}

/** Returns the run with new records in front, split into batches. Records that it already has are skipped. */
export function fillRun(run: SyncRun, requestIds: readonly string[]): SyncRun {
  const known = new Set([...run.queue.flat(), ...run.suspects.map(({ requestId }) => requestId)]);
  const added = requestIds.filter((id) => !known.has(id));
  const batches: string[][] = [];
  for (let at = 0; at < added.length; at += BATCH_MAX_RECORDS) {
    batches.push(added.slice(at, at + BATCH_MAX_RECORDS));
  }
  const full = run.full || requestIds.length >= BATCH_MAX_RECORDS;
  const newestId = requestIds.at(-1) ?? run.newestId;
  // If fewer records than the limit were selected, there are no newer ones.
  return { ...run, queue: [...batches, ...run.queue], full, probed: run.refusals > 0 || !full, newestId };
}

/** Whether to select the newest records next: a batch was refused and nothing has been delivered yet. */
export function needsProbe(run: SyncRun): boolean {
  return run.refusals > 0 && run.deliveredId === null && !run.probed;
}

/** Returns the next batch: the check of a suspect first; empty if the run is over. */
export function nextBatch(run: SyncRun): readonly string[] {
  return run.checking !== null && run.deliveredId !== null ? [run.deliveredId] : (run.queue[0] ?? []);
}

/** Returns the run with the batch in flight. */
export function takeBatch(run: SyncRun, requestIds: readonly string[]): SyncRun {
  return {
    ...run,
    phase: "sending",
    inFlight: requestIds,
    queue: run.checking === null ? run.queue.slice(1) : run.queue,
  };
}

/**
 * Returns the run after the whole batch in flight was refused, or `null` if nothing is left to try. The halves of the batch
 * join the queue. Larger batches are tried before smaller ones, so that something is delivered soon if few records are at
 * fault. The half with the newest record is second in the queue, so that newer records are reached within
 * `REFUSALS_PER_ROUND` batches if all older ones are at fault.
 *
 * A record that is refused alone is not quarantined yet. If the run has delivered another record, that one is sent again: if
 * it is accepted as a duplicate, the suspect is at fault; if it is refused too, the cloud is at fault, and every record stays
 * pending.
 */
export function afterRefusal(run: SyncRun, httpStatus: number, error: string): SyncRun | null {
  if (run.checking !== null) return null;
  const refusals = run.refusals + 1;
  const waiting: SyncRun = { ...run, phase: "waiting", inFlight: [], refusals };
  if (run.inFlight.length > 1) return { ...waiting, queue: queueHalves(run) };
  // A batch is never empty, so this one holds one record.
  const suspect: Suspect = { requestId: run.inFlight[0] as string, httpStatus, error };
  if (run.deliveredId !== null) return { ...waiting, checking: suspect };
  return run.queue.length === 0 ? null : { ...waiting, suspects: [...run.suspects, suspect] };
}

/** Returns the queue with the halves of the batch in flight. */
function queueHalves(run: SyncRun): readonly (readonly string[])[] {
  const middle = Math.ceil(run.inFlight.length / 2);
  const [older, newer] = [run.inFlight.slice(0, middle), run.inFlight.slice(middle)];
  const isNewest = run.deliveredId === null && newer.at(-1) === run.newestId;
  const queue = [...run.queue, older];
  queue.splice(isNewest ? 1 : queue.length, 0, newer);
  return queue;
}

/**
 * Returns the run after the cloud failed on the batch in flight, or `null` if the run is over: nothing is left to try, or a
 * round of failures. The batch is halved, so that a record on which the cloud always fails does not hold up the others. Such a
 * record is never quarantined, since the cloud did not refuse it: it stays pending and is sent again by the next run.
 */
export function afterServerError(run: SyncRun): SyncRun | null {
  const refusals = run.refusals + 1;
  if (run.checking !== null || refusals === REFUSALS_PER_ROUND) return null;
  const queue = run.inFlight.length > 1 ? queueHalves(run) : run.queue;
  if (queue.length === 0) return null;
  return { ...run, phase: "waiting", requested: false, inFlight: [], refusals, queue };
}

/** Whether the run must back off: a round of refusals is over and nothing was delivered. */
export function isRoundOver(run: SyncRun): boolean {
  return run.deliveredId === null && run.refusals % REFUSALS_PER_ROUND === 0;
}

/**
 * Returns the run after a 200, and the suspect whose fault it confirmed. Once a record is delivered, suspects from before are
 * tried again.
 */
export function afterSettled(
  run: SyncRun,
  delivered: readonly string[],
): { readonly run: SyncRun; readonly confirmed: Suspect | null } {
  if (run.checking !== null) {
    // Decision: a 200 that does not accept the checked record proves nothing; the suspect waits for a later run.
    return {
      run: { ...run, checking: null, inFlight: [] },
      confirmed: delivered.length > 0 ? run.checking : null,
    };
  }
  const deliveredId = delivered[0] ?? run.deliveredId;
  const retried = deliveredId === null ? [] : run.suspects.map((suspect) => [suspect.requestId]);
  return {
    run: {
      ...run,
      inFlight: [],
      deliveredId,
      queue: [...run.queue, ...retried],
      suspects: deliveredId === null ? run.suspects : [],
    },
    confirmed: null,
  };
}
