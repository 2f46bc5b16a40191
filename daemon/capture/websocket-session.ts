import { type CredentialKind, readCredentialKind } from "../../core/metering/billing/credential.ts";
import type { Direction } from "../../core/metering/exchange/exchange-reader.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import {
  readWebSocketExtensions,
  type WebSocketExtensions,
} from "../../core/metering/exchange/websocket-extensions.ts";
import {
  createWebSocketReader,
  type WebSocketReader,
} from "../../core/metering/exchange/websocket-reader.ts";
import { readCallIdentity } from "../../core/metering/sessions/call-identity.ts";
import { createMessageUsageReader } from "../../core/metering/usage/message-usage-reader.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { MAX_MESSAGE_BYTES } from "../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import { type BudgetShare, openBudgetShare } from "./byte-budget.ts";
import type { CallStart } from "./call-start.ts";
import { createLiveTurns, type SessionTurns } from "./live-turns.ts";
import { takeReportLimits } from "./read-limits.ts";
import { type Recording, recordCall } from "./record-call.ts";
import { createResponseTurns, NO_FACTS, type Turn } from "./response-turns.ts";
import type { CallEnd } from "./to-record.ts";
import { createWholeSession } from "./whole-session.ts";

/** A WebSocket that carries many responses, each of which makes a record. */
export interface WebSocketSession {
  push(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** Returns what is known of the turns whose response has not ended. */
  progress(): readonly CallProgress[];
  /** A budget refused the turn that the client asks for next, so that it was not sent. */
  blockNext(budget: string): void;
  /** Ends the open turns, because the connection has ended. */
  end(end: CallEnd, atMs: number): void;
  /** Ends the session and its open turns without records. */
  discard(): void;
}

/** What is known of a call that has not ended. */
export interface CallProgress {
  readonly provider: string;
  /** The requested model; null if it is not known yet. */
  readonly model: string | null;
  readonly startedAtMs: number;
}

/**
 * Counts a record as unfinished. The returned function is called once: with null when the record is stored, or with the error
 * that prevented it.
 */
export type BeginCall = () => (cause: unknown) => void;

interface SessionState {
  readonly recording: Recording;
  readonly start: CallStart;
  /** The route of the session's responses. */
  readonly route: MeteredRoute;
  readonly credential: CredentialKind;
  readonly userAgent: string | null;
  /** The response that upgraded the connection. */
  readonly head: ResponseHead;
  readonly begin: BeginCall;
  /** The memory for incomplete messages, by sender. */
  readonly memory: Readonly<Record<"client" | "server", BudgetShare>>;
  /** Whether this session has been counted in the coverage. */
  isCounted: boolean;
  /** How many turns the client has asked for. */
  turns: number;
  /** The budget that refused the next turn. */
  blockedBy: string | null;
}

/** The WebSocket extensions that can be read. */
type KnownExtensions = Exclude<WebSocketExtensions, { kind: "unknown" }>;

/**
 * Opens the session of an upgraded connection. Returns null if its route has no readable WebSocket, or if the sides agreed on an
 * unknown extension. Decision: captured bodies are those of requests, so messages are not captured.
 */
export function openWebSocketSession(
  recording: Recording,
  start: CallStart,
  head: ResponseHead,
  begin: BeginCall,
): WebSocketSession | null {
  const extensions = readWebSocketExtensions(head.headers);
  if (start.route.webSocket !== true || extensions.kind === "unknown") return null;
  const session: SessionState = {
    recording,
    start,
    route: { ...start.route, model: start.route.model ?? readModelParameter(start.head.target) },
    credential: readCredentialKind(start.head.headers, start.head.target),
    userAgent: headerValue(start.head.headers, "user-agent"),
    head,
    begin,
    memory: {
      client: openBudgetShare(recording.messageBudget),
      server: openBudgetShare(recording.messageBudget),
    },
    isCounted: false,
    turns: 0,
    blockedBy: null,
  };
  const turns = createTurns(session);
  const readers = {
    request: createReader(session, extensions, "client", turns),
    response: createReader(session, extensions, "server", turns),
  };
  return {
    progress: () =>
      turns.open().map(({ facts, startedAtMs }) => {
        const { provider, model } = session.route;
        return { provider, model: facts.requestedModel ?? model, startedAtMs };
      }),
    push(direction, bytes, atMs) {
      readers[direction].push(bytes, atMs);
    },
    blockNext(budget) {
      session.blockedBy = budget;
    },
    end(end, atMs) {
      turns.end(end, atMs);
      const { coverage } = recording.ports;
      if (!session.isCounted) coverage.count(start.facts.host, "free");
      if (session.memory.server.wasRefused) coverage.count(start.facts.host, "usage_not_kept");
      closeMemory(session);
    },
    discard() {
      for (const { ended } of turns.open()) ended?.(null);
      closeMemory(session);
    },
  };
}

function closeMemory({ memory }: SessionState): void {
  memory.client.close();
  memory.server.close();
}

const isLive = ({ route }: SessionState) => route.api === "gemini.live";

function createTurns(session: SessionState): SessionTurns<Turn> {
  const { route, recording } = session;
  const finish = (turn: Turn, report: UsageReport | null, end: CallEnd, endedAtMs: number) =>
    recordTurn(session, turn, report, end, endedAtMs);
  if (route.wholeSession === true)
    return createWholeSession<Turn>({
      usage: createMessageUsageReader(route),
      begin: (times) => ({
        eventId: null,
        facts: { ...NO_FACTS, requestedModel: route.model },
        promptHash: null,
        ...times,
      }),
      finish,
    });
  if (!isLive(session)) {
    const { sha256Hex } = recording.ports;
    return createResponseTurns({ route, sha256Hex, finish, follow: () => followTurn(session) });
  }
  return createLiveTurns<Turn>({
    createUsage: (model) => createMessageUsageReader({ ...route, model: model ?? route.model }),
    begin({ startedAtMs, answeredAtMs, model }) {
      const facts = { ...NO_FACTS, requestedModel: model ?? route.model };
      return { eventId: null, facts, promptHash: null, startedAtMs, answeredAtMs };
    },
    finish,
  });
}

/** Follows a turn that a budget admitted, by its number in the session. */
function followTurn(session: SessionState): Turn["ended"] {
  session.turns += 1;
  return session.start.followTurn?.(session.turns);
}

/** Creates the record of a turn. The report is null if the turn has no response. */
function recordTurn(
  session: SessionState,
  { eventId: _, answeredAtMs, ended, ...turn }: Turn,
  report: UsageReport | null,
  end: CallEnd,
  endedAtMs: number,
): void {
  const { recording, start, route, head } = session;
  const { host, attribution } = start.facts;
  session.isCounted = true;
  if (report !== null)
    takeReportLimits(
      recording.ports,
      { provider: route.provider, request: start.head, response: head },
      report,
    );
  const settled = session.begin();
  recordCall(
    recording,
    {
      ...turn,
      identity: recording.sessions.resolve(
        readCallIdentity({
          headers: start.head.headers,
          body: turn.facts.stated ?? null,
          isHandshake: true,
        }),
      ),
      credential: session.credential,
      userAgent: session.userAgent,
      host,
      method: start.head.method,
      path: start.path,
      route,
      isResponseRefetchable: false,
      blockedBy: session.blockedBy,
      ...(ended !== undefined && { onRecord: ended }),
      response: answeredAtMs === null ? null : { head, atMs: answeredAtMs },
      end,
      endedAtMs,
    },
    report,
    { from: attribution, headerProject: start.headerProject, git: attribution.git?.() ?? null },
    {
      recorded(result) {
        if (result instanceof Promise) recording.continueWith(host, result);
        settled(null);
        ended?.(null);
      },
      failed(cause) {
        settled(cause);
        ended?.(null);
      },
    },
  );
}

function createReader(
  session: SessionState,
  extensions: KnownExtensions,
  sender: "client" | "server",
  turns: SessionTurns<Turn>,
): WebSocketReader {
  const { coverage, log, createMessageInflater } = session.recording.ports;
  const { host } = session.start.facts;
  const take = sender === "client" ? turns.sent : turns.received;
  const contextTakeover =
    extensions.kind === "deflate" &&
    (sender === "client" ? extensions.clientContextTakeover : extensions.serverContextTakeover);
  const inflaterOptions = { contextTakeover, maxBytes: MAX_MESSAGE_BYTES };
  return createWebSocketReader(
    {
      message(message, atMs) {
        // Google's server sends JSON in binary frames.
        if (message.kind === "text" || isLive(session) || session.route.wholeSession === true)
          take(message, atMs);
        if (sender !== "client" || session.blockedBy === null) return;
        turns.blocked?.(atMs);
        session.blockedBy = null;
      },
      closed() {},
      unreadable(reason) {
        // Only the server's messages contain usage, so only they count in the coverage.
        if (sender === "server") {
          session.isCounted = true;
          coverage.count(host, "unreadable");
        }
        log.warn("capture.unreadable", { host, reason });
      },
    },
    {
      sender,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      quota: session.memory[sender],
      deflate:
        extensions.kind === "deflate"
          ? { contextTakeover, inflater: createMessageInflater(inflaterOptions) }
          : null,
    },
  );
}

/** Returns the model that a WebSocket's URL names (`?model=gpt-realtime`). ElevenLabs and AssemblyAI name it in other parameters. */
function readModelParameter(target: string): string | null {
  const query = target.indexOf("?");
  if (query === -1) return null;
  const parameters = new URLSearchParams(target.slice(query + 1));
  return parameters.get("model") ?? parameters.get("model_id") ?? parameters.get("speech_model");
}
