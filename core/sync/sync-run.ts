import type { Suspect, SyncRun } from "./sync-state.ts";

/** Most records in one batch. Source: decisions, "Metadata batch": records 1..500. */
export const BATCH_MAX_RECORDS = 500;

/** A run that waits for its records. */
export function createRun(requested: boolean): SyncRun {
  return {
    phase: "selecting",
    requested,
    full: false,
    inFlight: [],
    queue: [],
    suspects: [],
    takenId: null,
    checking: null,
    accepted: 0,
    duplicates: 0,
    quarantined: 0,
  };
}

/** The run with its records, cut into batches. */
export function fillRun(run: SyncRun, requestIds: readonly string[]): SyncRun {
  const queue: string[][] = [];
  for (let at = 0; at < requestIds.length; at += BATCH_MAX_RECORDS) {
    queue.push(requestIds.slice(at, at + BATCH_MAX_RECORDS));
  }
  return { ...run, queue, full: requestIds.length >= BATCH_MAX_RECORDS };
}

/** The batch that goes next: the check of a suspect first; empty where the run is over. */
export function nextBatch(run: SyncRun): readonly string[] {
  return run.checking !== null && run.takenId !== null ? [run.takenId] : (run.queue[0] ?? []);
}

/** The run with that batch in flight. */
export function sendFrom(run: SyncRun, requestIds: readonly string[]): SyncRun {
  return {
    ...run,
    phase: "sending",
    inFlight: requestIds,
    queue: run.checking === null ? run.queue.slice(1) : run.queue,
  };
}

/**
 * The run after the batch in flight was refused as a whole; `null` where nothing is left to try. The halves go to the
 * end, so that all larger batches are tried before smaller ones: where one record is at fault, something is taken soon.
 *
 * A record refused alone is not quarantined on its own word. Once the run has seen another one taken, that one is sent
 * again right away: taken as a duplicate, the cloud is well and the record is at fault. Refused too, the cloud is at
 * fault, and everything stays.
 */
export function afterRefusal(run: SyncRun, httpStatus: number): SyncRun | null {
  if (run.checking !== null) return null;
  const waiting: SyncRun = { ...run, phase: "waiting", inFlight: [] };
  if (run.inFlight.length > 1) {
    const middle = Math.ceil(run.inFlight.length / 2);
    const halves = [run.inFlight.slice(0, middle), run.inFlight.slice(middle)];
    return { ...waiting, queue: [...run.queue, ...halves] };
  }
  // No batch is empty, so here it holds one record.
  const suspect: Suspect = { requestId: run.inFlight[0] as string, httpStatus };
  if (run.takenId !== null) return { ...waiting, checking: suspect };
  return run.queue.length === 0 ? null : { ...waiting, suspects: [...run.suspects, suspect] };
}

/** The run after a 200, and the suspect that it settles. Suspects from before anything was taken get their second try. */
export function afterSettled(
  run: SyncRun,
  taken: readonly string[],
): { readonly run: SyncRun; readonly guilty: Suspect | null } {
  if (run.checking !== null) {
    // Decision: a check that answers 200 without taking the record proves nothing; the suspect stays for a later run.
    return { run: { ...run, checking: null, inFlight: [] }, guilty: taken.length > 0 ? run.checking : null };
  }
  const takenId = taken[0] ?? run.takenId;
  const retried = takenId === null ? [] : run.suspects.map((suspect) => [suspect.requestId]);
  return {
    run: {
      ...run,
      inFlight: [],
      takenId,
      queue: [...run.queue, ...retried],
      suspects: takenId === null ? run.suspects : [],
    },
    guilty: null,
  };
}
