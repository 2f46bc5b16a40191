import type { WebSocketMessage } from "../../core/metering/exchange/websocket-reader.ts";
import { createKeyFinder } from "../../core/metering/usage/key-finder.ts";
import { compileMemberPaths, pickMembers } from "../../core/metering/usage/member-picker.ts";
import type { MessageUsageReader } from "../../core/metering/usage/message-usage-reader.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { CallEnd } from "./to-record.ts";

/** Divides the messages of one WebSocket into turns. A turn is a request and its response. */
export interface SessionTurns<Turn> {
  sent(message: WebSocketMessage): void;
  received(message: WebSocketMessage, atMs: number): void;
  /** Returns the turns whose response has not ended. */
  open(): readonly Turn[];
  /** The last turn that the client asked for was not sent to the provider. */
  blocked?(atMs: number): void;
  /** Ends the open turns, because the connection has ended. */
  end(end: CallEnd, atMs: number): void;
}

/** The session of Gemini Live turns. */
interface LiveTurnsContext<Turn> {
  /** Creates the usage reader of the session for the model of the client's `setup` message. */
  createUsage(model: string | null): MessageUsageReader;
  begin(times: { startedAtMs: number; answeredAtMs: number; model: string | null }): Turn;
  /** Creates the record of a turn. The report is null if the turn ended without usage. */
  finish(turn: Turn, report: UsageReport | null, end: CallEnd, endedAtMs: number): void;
}

const SETUP = compileMemberPaths(["setup.model"]);
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
 * Creates the turns of a Gemini Live session. Each usage that the provider reports makes a record. A turn with output makes
 * a record without counts if it has no usage before the next turn has output or the connection ends.
 *
 * Decision: a turn begins with the client's last complete message (a text or a tool result). If the client only streams
 * audio or video, the turn begins with the first message of the response.
 */
export function createLiveTurns<Turn>(context: LiveTurnsContext<Turn>): SessionTurns<Turn> {
  let model: string | null = null;
  let usage: MessageUsageReader | null = null;
  let requestedAtMs: number | null = null;
  let turn: Turn | null = null;
  /** When the provider reported the turn as complete, with or without usage. */
  let completeAtMs: number | null = null;

  const begin = (message: WebSocketMessage): Turn => {
    const startedAtMs = requestedAtMs ?? message.startedAtMs;
    requestedAtMs = null;
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
      if ((found & SETUP_BIT) === 0) requestedAtMs = message.startedAtMs;
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
    open: () => (turn === null || completeAtMs !== null ? [] : [turn]),
    end(end, atMs) {
      if (turn !== null) finish(turn, null, completeAtMs === null ? end : "complete", completeAtMs ?? atMs);
    },
  };
}

/** Returns `m` for `models/m`, or for a longer path on Vertex AI. */
function lastSegment(model: string | null): string | null {
  return model === null ? null : model.slice(model.lastIndexOf("/") + 1);
}
