import type { Millis } from "../../../core/values/time.ts";
import type { Period } from "./values.ts";

/** A move of requests from one project to another. */
export interface Reassignment {
  fromProject: string;
  toProject: string;
  period: Period;
  /** Whether later calls are moved too, if their project is named after a folder. The project is then merged. */
  includesLaterCalls?: boolean;
}

/** How many requests a move concerns. */
export interface ReassignmentCounts {
  requests: number;
  /** The part of `requests` that a cloud already has, under the old name. */
  synced: number;
}

/** A move that can be undone. */
export interface LastReassignment {
  at: Millis;
  /** 0 if only later calls are concerned. */
  requests: number;
}

/** Moves of requests between projects. */
export interface ReassignmentStore {
  /** Counts what a move would change. */
  count(move: Reassignment): ReassignmentCounts;
  /** Moves the requests in one transaction and records their previous project. Moving twice moves nothing the second time. */
  move(move: Reassignment, at: Millis): ReassignmentCounts;
  /** Returns the last move that was not undone. Not found: null. */
  last(): LastReassignment | null;
  /** Undoes the last move, of later calls too, and returns the number of requests; 0 if there is none. */
  undo(): number;
}
