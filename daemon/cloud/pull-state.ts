import { MIN_PULL_INTERVAL_MS } from "../../core/pricing/guard.ts";
import type { Millis } from "../../core/values/time.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";

/** The key of the time of the last successful pull, in milliseconds. */
const PULLED_AT_KEY = "rates_pulled_at";

/** The key of the last failed pull since then: time and error. */
const FAILED_KEY = "rates_pull_failed";

/** The prefix of the key of the time of the last successful pull of a source, in milliseconds. */
const SOURCE_PULLED_AT_KEY = "rates_pulled_at:";

/** A pull of rates that changed nothing. */
interface PullFailure {
  at: Millis;
  /** A text for people. It may contain text from the server. */
  error: string;
}

/** The last successful pull, and the last failed one if none succeeded after it. */
export interface PullHistory {
  pulledAt: Millis | null;
  failure: PullFailure | null;
}

/** Reads the pull history. */
export function readPullHistory(notes: Pick<NoteStore, "read">): PullHistory {
  const pulledAt = notes.read(PULLED_AT_KEY);
  return {
    pulledAt: pulledAt === null ? null : Number(pulledAt),
    failure: readNote<PullFailure>(notes, FAILED_KEY),
  };
}

/** Returns when the next pull is due: after the interval, or after the minimum interval if the last pull failed. */
export function nextPullAt({ pulledAt, failure }: PullHistory, intervalMs: number): Millis {
  return failure === null ? (pulledAt ?? 0) + intervalMs : failure.at + MIN_PULL_INTERVAL_MS;
}

/** Returns when rates were last pulled from a source, or null. */
export function readSourcePulledAt(notes: Pick<NoteStore, "read">, source: string): Millis | null {
  const text = notes.read(`${SOURCE_PULLED_AT_KEY}${source}`);
  return text === null ? null : Number(text);
}

/** Saves that a pull from a source succeeded, whether or not rates changed. */
export function saveSourcePull(notes: Pick<NoteStore, "write">, source: string, at: Millis): void {
  notes.write(`${SOURCE_PULLED_AT_KEY}${source}`, String(at));
}

/** Saves that a pull succeeded, whether or not rates changed. */
export function savePullSuccess(notes: Pick<NoteStore, "write">, at: Millis): void {
  notes.write(PULLED_AT_KEY, String(at));
  notes.write(FAILED_KEY, null);
}

/** Saves that a pull failed. */
export function savePullFailure(notes: Pick<NoteStore, "write">, { at, error }: PullFailure): void {
  notes.write(FAILED_KEY, JSON.stringify({ at, error }));
}
