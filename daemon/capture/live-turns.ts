import type { WebSocketMessage } from "../../core/exchange/mod.ts";
import { createKeyFinder } from "../../core/usage/key-finder.ts";
import { pickMembers, wantMembers } from "../../core/usage/member-picker.ts";
import type { MessageUsageReader, UsageReport } from "../../core/usage/mod.ts";
import type { CallEnd } from "./to-record.ts";

/** The turns of one WebSocket, as its messages tell them. */
export interface SessionTurns {
  sent(message: WebSocketMessage): void;
  received(message: WebSocketMessage, atMs: number): void;
  /** The connection is over, and with it what was asked and not answered. */
  end(end: CallEnd, atMs: number): void;
}

/** What Gemini Live's turns need of their session. */
export interface LiveTurnsContext<Turn> {
  /** The usage reader of the session, whose model is the one that the client set up. */
  createUsage(model: string | null): MessageUsageReader;
  begin(times: { startedAtMs: number; answeredAtMs: number; model: string | null }): Turn;
  /** Makes the record of a turn; one that ended without usage has a null report. */
  finish(turn: Turn, report: UsageReport | null, end: CallEnd, endedAtMs: number): void;
}

const SETUP = wantMembers(["setup.model"]);
const findSent = createKeyFinder([
  "setup",
  "clientContent",
  "client_content",
  "toolResponse",
  "tool_response",
]);
const SETUP_BIT = 1;

const findReceived = createKeyFinder(["modelTurn", "toolCall", "turnComplete"]);
const OUTPUT_BITS = 0b011;

/**
 * Creates the turns of a Gemini Live session. Each usage that the provider states is a record. A turn that had output and
 * no usage by the time the next one has output, or the connection ends, is a record without counts.
 *
 * Decision: a turn begins with the last message that the client wrote as a whole (text, the result of a tool), and where it
 * only streams sound or pictures, which never stop, with the first of the answer.
 */
export function createLiveTurns<Turn>(context: LiveTurnsContext<Turn>): SessionTurns {
  let model: string | null = null;
  let usage: MessageUsageReader | null = null;
  let askedAtMs: number | null = null;
  let turn: Turn | null = null;
  /** When the turn was said to be complete, usage or not. */
  let completeAtMs: number | null = null;

  const begin = (message: WebSocketMessage): Turn => {
    const startedAtMs = askedAtMs ?? message.startedAtMs;
    askedAtMs = null;
    return context.begin({ startedAtMs, answeredAtMs: message.startedAtMs, model });
  };
  const finish = (ended: Turn, report: UsageReport | null, end: CallEnd, atMs: number): void => {
    turn = null;
    completeAtMs = null;
    context.finish(ended, report, end, atMs);
  };

  return {
    sent(message) {
      const found = findSent(message.bytes);
      if (found === 0) return;
      if ((found & SETUP_BIT) === 0) askedAtMs = message.startedAtMs;
      else model = lastSegment(pickMembers(message.bytes, SETUP).string("setup.model")) ?? model;
    },
    received(message, atMs) {
      const found = findReceived(message.bytes);
      if ((found & OUTPUT_BITS) !== 0) {
        if (turn !== null && completeAtMs !== null) finish(turn, null, "complete", completeAtMs);
        turn ??= begin(message);
      }
      usage ??= context.createUsage(model);
      const report = usage.read(message.bytes);
      if (report !== null) finish(turn ?? begin(message), report, "complete", atMs);
      else if (turn !== null && (found & ~OUTPUT_BITS) !== 0) completeAtMs ??= atMs;
    },
    end(end, atMs) {
      if (turn !== null) finish(turn, null, completeAtMs === null ? end : "complete", completeAtMs ?? atMs);
    },
  };
}

/** `models/m`, or a longer path on Vertex, as `m`. */
function lastSegment(model: string | null): string | null {
  return model === null ? null : model.slice(model.lastIndexOf("/") + 1);
}
