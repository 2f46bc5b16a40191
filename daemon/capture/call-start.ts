import type { GitState } from "../../core/metering/attribution/git-state.ts";
import type { RequestHead } from "../../core/metering/exchange/head.ts";
import type { RequestFacts } from "../../core/metering/usage/read-request.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { ConnectionFacts } from "./ports.ts";

/** The facts of a call that are known after its request head. */
export interface CallStart {
  facts: ConnectionFacts;
  route: MeteredRoute;
  head: RequestHead;
  path: string;
  headerProject: string | null;
  startedAtMs: number;
  /** The budget that refused the call. Null: it was sent. */
  blockedBy: string | null;
  /** Called when the request was read. */
  requestRead?: (facts: RequestFacts) => void;
  /** Called when the call becomes a record, with its id, and at its end. Null: it becomes none. */
  ended?: (requestId: string | null) => void;
  /** Follows the turns of a WebSocket in the same way, by their number from 1. */
  followTurn?: (turn: number) => (requestId: string | null) => void;
  /** The state of the caller's working tree when the call began. */
  git: GitState | null | Promise<GitState | null>;
}
