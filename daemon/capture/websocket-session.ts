import {
  createWebSocketReader,
  type Direction,
  type ResponseHead,
  readWebSocketAgreement,
  type WebSocketMessage,
  type WebSocketReader,
} from "../../core/exchange/mod.ts";
import { createKeyFinder } from "../../core/usage/key-finder.ts";
import { pickMembers, wantMembers } from "../../core/usage/member-picker.ts";
import {
  createMessageUsageReader,
  MAX_MESSAGE_BYTES,
  type MeteredRoute,
  readRequest,
  type UsageReport,
} from "../../core/usage/mod.ts";
import type { CallStart } from "./call-start.ts";
import { createLiveTurns, type SessionTurns } from "./live-turns.ts";
import { type Recording, recordCall, type UnrecordedCall } from "./record-call.ts";
import type { CallEnd } from "./to-record.ts";

/** A WebSocket on which a provider answers many times: each finished response makes a record. */
export interface WebSocketSession {
  push(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** The connection is over, and with it what was asked and not answered. */
  end(end: CallEnd, atMs: number): void;
}

/** Says that a record is on its way; gives back what is called once when it is there, or with what went wrong. */
export type BeginRecord = () => (cause: unknown) => void;

/** One response that was asked for, or that the provider began by itself. */
interface Turn {
  /** The client's own name for its message, to which an error refers. */
  eventId: string | null;
  facts: UnrecordedCall["facts"];
  promptHash: string | null;
  startedAtMs: number;
  /** When the first byte of the first message about it passed. */
  answeredAtMs: number | null;
}

/** More requests than these are not waited for. Decision: a session has one or two responses under way. */
const MAX_TURNS = 100;

const NO_FACTS: UnrecordedCall["facts"] = {
  requestedModel: null,
  streaming: true,
  canonicalPrompt: null,
  requestedServiceTier: null,
};

const SENT = wantMembers(["type", "event_id", "model", "response.model", "session.model"]);
const RECEIVED = wantMembers(["type", "response.id", "error.event_id"]);
const findTurnKeys = createKeyFinder(["response", "error"]);

/**
 * Opens the session of a connection that was upgraded; null where its route is none that is read so, or where something
 * was agreed on that is not known here. Decision: what bodies pass is not captured, since they are no bodies of requests.
 */
export function openWebSocketSession(
  recording: Recording,
  start: CallStart,
  head: ResponseHead,
  begin: BeginRecord,
): WebSocketSession | null {
  const agreement = readWebSocketAgreement(head.headers);
  if (start.route.webSocket !== true || agreement.kind === "unknown") return null;
  const { ports } = recording;
  const { host } = start.facts;
  const route: MeteredRoute = { ...start.route, model: start.route.model ?? modelInQuery(start.head.target) };
  const isLive = route.api === "gemini.live";
  const usage = createMessageUsageReader(route);
  /** Asked for and not yet begun, oldest first. */
  const asked: Turn[] = [];
  /** Begun, by the response's id. */
  const begun = new Map<string, Turn>();
  let sessionModel: string | null = null;
  /** Whether the coverage has something of this session. */
  let isCounted = false;

  /** Makes the record of a turn; a turn without an answer has a null report. */
  const finish = (turn: Turn, report: UsageReport | null, end: CallEnd, endedAtMs: number): void => {
    isCounted = true;
    const { eventId: _, answeredAtMs, ...asked } = turn;
    const call = {
      ...asked,
      host,
      method: start.head.method,
      path: start.path,
      route,
      responseIsKept: false,
      response: answeredAtMs === null ? null : { head, atMs: answeredAtMs },
      end,
      endedAtMs,
    };
    const settled = begin();
    start.facts.attribution
      .attribute(start.headerProject)
      .then((attribution) => recordCall(recording, { ...call, attribution }, report))
      .then(
        () => settled(null),
        (cause) => settled(cause),
      );
  };

  const turnWithout = (message: WebSocketMessage): Turn => ({
    eventId: null,
    facts: { ...NO_FACTS, requestedModel: sessionModel ?? route.model },
    promptHash: null,
    startedAtMs: message.startedAtMs,
    answeredAtMs: null,
  });

  const sent = (message: WebSocketMessage): void => {
    const picked = pickMembers(message.bytes, SENT);
    const type = picked.string("type");
    if (type === "session.update") sessionModel = picked.string("session.model") ?? sessionModel;
    if (type !== "response.create" || asked.length >= MAX_TURNS) return;
    const { canonicalPrompt, ...facts } = readRequest(route, message.bytes);
    const requestedModel =
      picked.string("model") ?? picked.string("response.model") ?? sessionModel ?? route.model;
    asked.push({
      ...turnWithout(message),
      eventId: picked.string("event_id"),
      facts: { ...facts, requestedModel, streaming: true, canonicalPrompt: null },
      promptHash: canonicalPrompt === null ? null : ports.sha256Hex(canonicalPrompt),
    });
  };

  /** The turn that a report ends: its response's; for an error that names none, the one that it can only be. */
  const takeTurn = (report: UsageReport, message: WebSocketMessage): Turn => {
    const own = report.responseId === null ? undefined : begun.get(report.responseId);
    if (own !== undefined) begun.delete(report.responseId as string);
    let turn = own;
    if (turn === undefined && report.error !== null) {
      turn = asked.shift();
      const [only] = begun;
      if (turn === undefined && only !== undefined) {
        begun.delete(only[0]);
        turn = only[1];
      }
    }
    turn ??= turnWithout(message);
    turn.answeredAtMs ??= message.startedAtMs;
    return turn;
  };

  const received = (message: WebSocketMessage, atMs: number): void => {
    const picked = findTurnKeys(message.bytes) === 0 ? null : pickMembers(message.bytes, RECEIVED);
    const type = picked?.string("type") ?? null;
    const id = picked?.string("response.id") ?? null;
    if (type === "response.created" && id !== null && begun.size < MAX_TURNS) {
      const turn = asked.shift() ?? turnWithout(message);
      turn.answeredAtMs = message.startedAtMs;
      begun.set(id, turn);
    }
    const report = usage.read(message.bytes);
    if (report !== null) finish(takeTurn(report, message), report, "complete", atMs);
    else if (type === "error") {
      // Realtime refuses what it does not answer, by its name where it had one: no response, and nothing billed.
      const refused = picked?.string("error.event_id") ?? null;
      const at = refused === null ? 0 : asked.findIndex(({ eventId }) => eventId === refused);
      if (at !== -1) asked.splice(at, 1);
    }
  };

  const turns: SessionTurns = isLive
    ? createLiveTurns({
        createUsage: (model) => createMessageUsageReader({ ...route, model: model ?? route.model }),
        begin({ startedAtMs, answeredAtMs, model }) {
          const facts = { ...NO_FACTS, requestedModel: model ?? route.model };
          return { eventId: null, facts, promptHash: null, startedAtMs, answeredAtMs };
        },
        finish,
      })
    : {
        sent,
        received,
        end(end, atMs) {
          const left = [...begun.values(), ...asked];
          begun.clear();
          asked.length = 0;
          for (const turn of left) finish(turn, null, end, atMs);
        },
      };

  const readerOf = (
    sender: "client" | "server",
    take: (message: WebSocketMessage, atMs: number) => void,
  ): WebSocketReader => {
    const sharesWindow =
      agreement.kind === "deflate" &&
      (sender === "client" ? agreement.clientSharesWindow : agreement.serverSharesWindow);
    return createWebSocketReader(
      {
        message(message, atMs) {
          // Google's server sends its JSON in binary frames.
          if (message.kind === "text" || isLive) take(message, atMs);
        },
        closed() {},
        unreadable(reason) {
          // What the client sends only tells what it asked for.
          if (sender === "server") {
            isCounted = true;
            ports.coverage.count(host, "unreadable");
          }
          ports.log.warn("capture.unreadable", { host, reason });
        },
      },
      {
        sender,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        deflate:
          agreement.kind === "deflate"
            ? {
                sharesWindow,
                inflater: ports.createMessageInflater({ sharesWindow, maxBytes: MAX_MESSAGE_BYTES }),
              }
            : null,
      },
    );
  };
  const readers = { request: readerOf("client", turns.sent), response: readerOf("server", turns.received) };

  return {
    push: (direction, bytes, atMs) => readers[direction].push(bytes, atMs),
    end(end, atMs) {
      turns.end(end, atMs);
      if (!isCounted) ports.coverage.count(host, "free");
    },
  };
}

/** The model that a WebSocket's address names (`?model=gpt-realtime`). */
function modelInQuery(target: string): string | null {
  const query = target.indexOf("?");
  return query === -1 ? null : new URLSearchParams(target.slice(query + 1)).get("model");
}
