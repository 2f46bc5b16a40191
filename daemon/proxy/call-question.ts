import type { ProcessFacts } from "../../core/ports/process-table.ts";

/** A call that waits for its decision. */
export interface CallQuestion {
  readonly connection: number;
  /** The number of the request on its connection, from 1, as the log's reader counts it. */
  readonly request: number;
  readonly host: string;
  readonly port: number;
  readonly clientPort: number;
  readonly proxyUser: string | null;
  /** The value of `X-Meter-Project` of a gateway request. */
  readonly project: string | null;
  readonly caller: ProcessFacts | null;
  /** The head as it is sent upstream. */
  readonly head: Uint8Array;
  /** The start of the body, without chunk framing; or the client's message that begins a turn of a WebSocket. */
  readonly body: Uint8Array;
  /** Whether `body` is all of it. */
  readonly isWhole: boolean;
  readonly isTurn: boolean;
}

/** The decision on a call. `answer` is what the client gets instead of a response: HTTP, or the text of a WebSocket message. */
export type GateAnswer =
  | { readonly kind: "allow"; readonly holdsTurns?: boolean }
  | { readonly kind: "refuse"; readonly answer: Uint8Array; readonly budget: string | null };

/**
 * What calls use at most that went without a decision and may not be in the sums yet. They must be counted before a question is decided: these
 * ones, and those that were part of an earlier question.
 */
export interface PassedUses {
  /** Three numbers for each: that of the pass, millionths of a USD, and tokens. NaN: not known. */
  readonly bounds: Float64Array;
  /** The bodies of those of which one is not known, as they were sent, by the number of the pass. */
  readonly bodies: ReadonlyMap<number, Uint8Array>;
}
