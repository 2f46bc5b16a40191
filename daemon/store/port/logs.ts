import type { PullRequestLink } from "../../../core/metering/agent-logs/log-entry.ts";
import type { WireCall } from "../../../core/metering/agent-logs/match-entries.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { StoredRequest } from "./records.ts";

/** How far a file of an agent was read. */
export interface LogPosition {
  readonly path: string;
  readonly agent: string;
  readonly format: string;
  /** The version of the reader that read it. */
  readonly readerVersion: number;
  readonly fileId: string | null;
  readonly size: number;
  readonly modifiedAt: Millis;
  readonly offset: number;
  readonly line: number;
  /** The hash of the last bytes before the offset. */
  readonly tailHash: string;
  /** The state of the reader, as JSON. */
  readonly state: string;
}

/** An entry of a log whose call passed through the proxy. */
export interface LogMatch {
  /** The id that the entry's record would have. */
  readonly entryId: string;
  /** The record of the call. */
  readonly requestId: string;
  readonly agent: string;
}

/** What was read of one file. */
export interface LogBatch {
  readonly records: readonly RequestRecord[];
  readonly matches: readonly LogMatch[];
  readonly position: LogPosition | null;
  readonly links?: readonly (PullRequestLink & Pick<LogPosition, "agent">)[];
}

/** What storing a batch changed. */
export interface LogChanges {
  /** New records. */
  readonly added: number;
  /** Records that were stored with fewer tokens, from before their response ended. */
  readonly grown: number;
}

/** Records from the logs of agents. Other processes than the daemon write them. */
export interface LogStore {
  /** Returns how far a file was read. Not found: null. */
  position(path: string): LogPosition | null;
  /**
   * Stores records and matches, and then how far the file was read, in one transaction. Idempotent: a record that is stored stays,
   * unless the new one has more tokens; the record of an entry that is matched is deleted, and none is stored for it later.
   * Records are marked as not to be sent to a cloud.
   */
  save(batch: LogBatch, at: Millis): LogChanges;
  /**
   * Gives the calls of sessions with links their pull request, as far as it is unknown; those of the proxy too. Returns how many got
   * one. Idempotent.
   */
  linkPullRequests(): number;
  /** Returns which of these entries were matched before. */
  matched(entryIds: readonly string[]): Set<string>;
  /** Returns the instant before which the user deleted all records, so that none is imported. Null: there is none. */
  prunedBefore(): Millis | null;
  /** Returns the entries that were matched with these calls. */
  matchesOf(requestIds: readonly string[]): LogMatch[];
  /** Returns which of these entries have a record. */
  stored(entryIds: readonly string[]): Set<string>;
  /** Reads the calls of the proxy in a period that no entry was matched with. */
  freeWireCalls(from: Millis, to: Millis): WireCall[];
  /** Returns when the first call passed through the proxy: of any program, or of one of these. Null if there was none. */
  firstWireCall(clients: readonly string[] | null): Millis | null;
  /** Reads the next records from logs since the instant, in order of time and then of arrival. */
  readSince(at: Millis, afterSeq: number, limit: number): StoredRequest[];
  /** Counts the records from logs; of one agent, or of all if it is null. */
  count(agent: string | null): number;
  /** Deletes a batch of the records from logs, and returns its size. Call it until it returns 0, then `forget()`. */
  removeSome(agent: string | null): number;
  /** Forgets how far files were read and what was matched, so that the next import reads everything. Idempotent. */
  forget(agent: string | null): void;
}
