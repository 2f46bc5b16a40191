import type { ProcessFacts } from "../../core/ports/process-table.ts";

/** A query about the client end of a connection to one of the daemon's ports. */
export interface CallerQuery {
  /** The client's IP address; null if only its port is known. */
  readonly clientAddress: string | null;
  readonly clientPort: number;
  /** The address that the client connected to; not given if it is unknown. */
  readonly serverAddress?: string;
  /** Null if it is unknown. */
  readonly serverPort: number | null;
  /** Whether to find the process too. This needs a search; the user is in the kernel's table. */
  readonly wantsProcess: boolean;
  /**
   * Whether to search for the process after answering, and to remember it for a later query, when the client may have
   * closed its socket.
   */
  readonly storesProcess?: boolean;
}

/** What is known about a caller. */
export interface CallerAnswer {
  /** The user who opened the client's socket; null if the platform does not state it. */
  readonly uid: number | null;
  /** Null if it was not found. A query that does not want the process gets it if it takes no search. */
  readonly process: ProcessFacts | null;
  /** The client closed its socket before it was looked up, so its user is unknown. */
  readonly isClosed?: true;
}

/** Answers a batch of queries, in their order. */
export type AnswerBatch = (queries: readonly CallerQuery[]) => Promise<readonly CallerAnswer[]>;

/** The answer if nothing is known. */
export const UNKNOWN_CALLER: CallerAnswer = { uid: null, process: null };
