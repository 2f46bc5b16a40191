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
  /** The start of the body, without chunk framing. */
  readonly body: Uint8Array;
  /** Whether `body` is all of it. */
  readonly isWhole: boolean;
  /** The client's message that begins a turn of a WebSocket; null for a request. */
  readonly turn: string | null;
}

/** The decision on a call. `answer` is what the client gets instead of a response: HTTP, or the text of a WebSocket message. */
export type GateAnswer =
  | { readonly kind: "allow"; readonly holdsTurns?: boolean }
  | { readonly kind: "refuse"; readonly answer: Uint8Array; readonly budget: string | null };
