import type { WebSocketMessage } from "../../core/metering/exchange/websocket-reader.ts";
import { createKeyFinder } from "../../core/metering/usage/key-finder.ts";
import { compileMemberPaths, pickMembers } from "../../core/metering/usage/member-picker.ts";
import {
  createMessageUsageReader,
  type MessageUsageReader,
} from "../../core/metering/usage/message-usage-reader.ts";
import { readRequest } from "../../core/metering/usage/read-request.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { SessionTurns } from "./live-turns.ts";
import type { CallEnd, EndedCall } from "./to-record.ts";

/** A response that the client requested or that the provider started itself. */
export interface Turn {
  /** The client's ID of the request message. Errors refer to it. */
  eventId: string | null;
  facts: EndedCall["facts"];
  promptHash: string | null;
  startedAtMs: number;
  /** When the first byte of the response's first message passed. */
  answeredAtMs: number | null;
  /** Called when the turn becomes a record, with its id, and at its end. Null: it becomes none. */
  ended?: ((requestId: string | null) => void) | undefined;
}

/** The facts of a turn whose request is unknown. */
export const NO_FACTS: EndedCall["facts"] = {
  requestedModel: null,
  streaming: true,
  canonicalPrompt: null,
  requestedServiceTier: null,
};

interface ResponseTurnsContext {
  readonly route: MeteredRoute;
  sha256Hex(text: string): string;
  /** Follows the turn that the client has just asked for. */
  follow?(): ((requestId: string | null) => void) | undefined;
  /** Creates the record of a turn. The report is null if the turn has no response. */
  finish(turn: Turn, report: UsageReport | null, end: CallEnd, endedAtMs: number): void;
}

interface ResponseTurns {
  readonly context: ResponseTurnsContext;
  readonly usage: MessageUsageReader;
  /** Turns whose response has not started, oldest first. */
  readonly requested: Turn[];
  /** Turns whose response has started, by response ID. */
  readonly started: Map<string, Turn>;
  sessionModel: string | null;
}

/** Maximum number of turns that are tracked in each state. Decision: a session has one or two at a time. */
const MAX_TURNS = 100;

const SENT = compileMemberPaths(["type", "event_id", "model", "response.model", "session.model"]);
const RECEIVED = compileMemberPaths(["type", "response.id", "error.event_id"]);
const findTurnKeys = createKeyFinder(["response", "error"]);

/** Creates the turns of a session in which the client requests responses with `response.create`, as in OpenAI's APIs. */
export function createResponseTurns(context: ResponseTurnsContext): SessionTurns<Turn> {
  const turns: ResponseTurns = {
    context,
    usage: createMessageUsageReader(context.route),
    requested: [],
    started: new Map(),
    sessionModel: null,
  };
  return {
    sent: (message) => onSent(turns, message),
    received: (message, atMs) => onReceived(turns, message, atMs),
    open: () => [...turns.started.values(), ...turns.requested],
    blocked(atMs) {
      const turn = turns.requested.pop();
      if (turn !== undefined) context.finish(turn, null, "complete", atMs);
    },
    end(end, atMs) {
      const left = [...turns.started.values(), ...turns.requested];
      turns.started.clear();
      turns.requested.length = 0;
      for (const turn of left) context.finish(turn, null, end, atMs);
    },
  };
}

function onSent(turns: ResponseTurns, message: WebSocketMessage): void {
  const { requested, context } = turns;
  const { route } = context;
  const picked = pickMembers(message.bytes, SENT);
  const type = picked.string("type");
  if (type === "session.update") turns.sessionModel = picked.string("session.model") ?? turns.sessionModel;
  if (type !== "response.create") return;
  const { canonicalPrompt, ...facts } = readRequest(route, message.bytes);
  const promptHash = canonicalPrompt === null ? null : context.sha256Hex(canonicalPrompt);
  // Only a turn that can be read is followed, since nothing would end another one.
  const ended = context.follow?.();
  if (requested.length >= MAX_TURNS) return ended?.(null);
  const requestedModel =
    picked.string("model") ?? picked.string("response.model") ?? turns.sessionModel ?? route.model;
  requested.push({
    ...unrequestedTurn(turns, message),
    ended,
    eventId: picked.string("event_id"),
    facts: { ...facts, requestedModel, streaming: true, canonicalPrompt: null },
    promptHash,
  });
}

function onReceived(turns: ResponseTurns, message: WebSocketMessage, atMs: number): void {
  const { requested, started, usage, context } = turns;
  const picked = findTurnKeys(message.bytes) === 0 ? null : pickMembers(message.bytes, RECEIVED);
  const type = picked?.string("type") ?? null;
  const id = picked?.string("response.id") ?? null;
  if (type === "response.created" && id !== null && started.size < MAX_TURNS) {
    const turn = requested.shift() ?? unrequestedTurn(turns, message);
    turn.answeredAtMs = message.startedAtMs;
    started.set(id, turn);
  }
  const report = usage.read(message.bytes);
  if (report !== null) {
    context.finish(takeTurn(turns, report, message), report, "complete", atMs);
  } else if (type === "error") {
    removeRefused(turns, picked?.string("error.event_id") ?? null);
  }
}

/** Removes the turn that the provider refused, which is not billed. Without an ID, removes the oldest requested turn. */
function removeRefused({ requested }: ResponseTurns, refusedEventId: string | null): void {
  const at = refusedEventId === null ? 0 : requested.findIndex(({ eventId }) => eventId === refusedEventId);
  if (at === -1) return;
  for (const { ended } of requested.splice(at, 1)) ended?.(null);
}

/** Removes the turn that a report ends. An error without a response ID ends the oldest requested turn, or else the oldest started. */
function takeTurn(turns: ResponseTurns, report: UsageReport, message: WebSocketMessage): Turn {
  const turn = findTurn(turns, report) ?? unrequestedTurn(turns, message);
  turn.answeredAtMs ??= message.startedAtMs;
  return turn;
}

function findTurn({ requested, started }: ResponseTurns, report: UsageReport): Turn | undefined {
  const { responseId } = report;
  const own = responseId === null ? undefined : takeStarted(started, responseId);
  if (own !== undefined || report.error === null) return own;
  const next = requested.shift();
  if (next !== undefined) return next;
  const [oldestId] = started.keys();
  return oldestId === undefined ? undefined : takeStarted(started, oldestId);
}

function takeStarted(started: Map<string, Turn>, responseId: string): Turn | undefined {
  const turn = started.get(responseId);
  started.delete(responseId);
  return turn;
}

function unrequestedTurn({ sessionModel, context }: ResponseTurns, message: WebSocketMessage): Turn {
  return {
    eventId: null,
    facts: { ...NO_FACTS, requestedModel: sessionModel ?? context.route.model },
    promptHash: null,
    startedAtMs: message.startedAtMs,
    answeredAtMs: null,
  };
}
