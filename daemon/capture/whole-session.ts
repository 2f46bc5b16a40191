import type { MessageUsageReader } from "../../core/metering/usage/message-usage-reader.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { SessionTurns } from "./live-turns.ts";
import type { CallEnd } from "./to-record.ts";

/** A WebSocket whose messages all belong to one record. */
interface WholeSessionContext<Turn> {
  readonly usage: MessageUsageReader;
  begin(times: { startedAtMs: number; answeredAtMs: number }): Turn;
  finish(turn: Turn, report: UsageReport, end: CallEnd, endedAtMs: number): void;
}

/**
 * Creates the only turn of a session. It begins with the first message of either side, and ends with the connection. A session
 * without a message from the provider makes no record.
 *
 * Decision: either side may close such a session when the work is done, so that is not an abort.
 */
export function createWholeSession<Turn>(context: WholeSessionContext<Turn>): SessionTurns<Turn> {
  let startedAtMs: number | null = null;
  let turn: Turn | null = null;
  return {
    sent(message) {
      startedAtMs ??= message.startedAtMs;
    },
    received(message) {
      startedAtMs ??= message.startedAtMs;
      turn ??= context.begin({ startedAtMs, answeredAtMs: message.startedAtMs });
      context.usage.read(message.bytes);
    },
    open: () => (turn === null ? [] : [turn]),
    end(end, atMs) {
      if (turn === null) return;
      const isInOrder = end === "clean" || end === "client_aborted";
      context.finish(turn, context.usage.end(), isInOrder ? "complete" : end, atMs);
      turn = null;
    },
  };
}
