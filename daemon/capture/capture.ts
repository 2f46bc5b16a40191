import { isAiHost } from "../../core/metering/coverage/ai-hosts.ts";
import { unlistedAddress, unlistedKind } from "../../core/metering/coverage/unlisted-hosts.ts";
import { createSessionTracker } from "../../core/metering/sessions/session-tracker.ts";
import type { TapFrame } from "../proxy/tap-frames.ts";
import { createByteBudget, MAX_HELD_BODY_BYTES, MAX_HELD_MESSAGE_BYTES } from "./byte-budget.ts";
import {
  createDistrustingPrograms,
  type DistrustingProgram,
  type DistrustingPrograms,
  readInterceptedEnd,
} from "./distrusting-programs.ts";
import { createHostNames, type HostNames } from "./host-names.ts";
import type { CallingProgram, CapturePorts, ConnectionAttribution } from "./ports.ts";
import { createRecordRedaction } from "./redact-record.ts";
import { createSeenResponses } from "./seen-responses.ts";
import {
  type CaptureContext,
  endCalls,
  openConnection,
  resolveEnd,
  type TappedConnection,
} from "./tapped-connection.ts";
import { createUnfinishedWork } from "./unfinished-work.ts";

/** Creates records from the tap log: reads each connection, and meters its calls that have a metered route. */
export interface Capture {
  /** Reads the next frames of the tap log, in order. Never throws: a failure is counted and logged. */
  frames(frames: readonly TapFrame[]): void;
  /** Resolves when every call that has ended has become a record. */
  settled(): Promise<void>;
  /** Returns the programs that seem not to trust the meter's certificate, latest first. */
  distrustingPrograms(): DistrustingProgram[];
  unusedByTrusting(): number;
  /** Returns the connections that are between requests. They can be closed without interrupting a call. */
  idleConnections(): { connection: number; lastAtMs: number }[];
  /** Returns the metered calls, and turns of WebSockets, whose responses have not ended, the longest running first. */
  callsInFlight(): CallInFlight[];
}

/** A metered call whose response has not ended. */
export interface CallInFlight {
  readonly provider: string;
  /** The requested model; null if it is not known yet. */
  readonly model: string | null;
  readonly runningMs: number;
  /** Returns the program that made the call; null if it is unknown. */
  program(): Promise<CallingProgram | null>;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** Maximum number of lookups that wait for their connection to open. A client that disconnects early leaves one behind. */
const MAX_PENDING_LOOKUPS = 256;

/** The record of a call that was refused because no decision was possible has this in the place of a budget. */
const UNDECIDED = "(no decision)";

export interface CaptureLimits {
  /** Maximum bytes of bodies held by all calls together. Default: `MAX_HELD_BODY_BYTES`. */
  readonly maxHeldBodyBytes?: number;
  /** Maximum bytes of incomplete messages held by the readers of all responses. Default: `MAX_HELD_MESSAGE_BYTES`. */
  readonly maxHeldMessageBytes?: number;
}

interface CaptureState extends CaptureContext {
  readonly ports: CapturePorts;
  /** The open connections, by their number in the log. */
  readonly connections: Map<number, TappedConnection>;
  /** Lookups that began before their connection opened, by the client's port; oldest first. */
  readonly pendingLookups: Map<number, ConnectionAttribution>;
  readonly hostNames: HostNames;
  /** The intercepted connections that are open. */
  readonly intercepted: Set<number>;
  readonly distrusting: DistrustingPrograms;
}

export function createCapture(
  ports: CapturePorts,
  {
    maxHeldBodyBytes = MAX_HELD_BODY_BYTES,
    maxHeldMessageBytes = MAX_HELD_MESSAGE_BYTES,
  }: CaptureLimits = {},
): Capture {
  const work = createUnfinishedWork(ports);
  const connections = new Map<number, TappedConnection>();
  const state: CaptureState = {
    ports,
    work,
    connections,
    pendingLookups: new Map(),
    intercepted: new Set(),
    distrusting: createDistrustingPrograms(),
    hostNames: createHostNames(ports.monotonicMs),
    recording: {
      ports,
      bodyBudget: createByteBudget(maxHeldBodyBytes),
      messageBudget: createByteBudget(maxHeldMessageBytes),
      seenResponses: createSeenResponses(ports.findStoredResponse),
      redactRecord: createRecordRedaction(ports.bodies.redact),
      sessions: ports.sessions ?? createSessionTracker(),
      continueWith: work.continueWith,
    },
  };
  return {
    frames(frames) {
      for (const frame of frames) {
        try {
          handleFrame(state, frame);
        } catch (cause) {
          discardConnection(state, frame.connection, cause);
        }
      }
    },
    idleConnections: () =>
      [...connections]
        .filter(([, { inProgress }]) => inProgress === 0)
        .map(([connection, { lastAtMs }]) => ({ connection, lastAtMs })),
    callsInFlight: () => listCallsInFlight(state),
    distrustingPrograms: state.distrusting.list,
    unusedByTrusting: state.distrusting.unusedByTrusting,
    settled: work.settled,
  };
}

function handleFrame(state: CaptureState, frame: TapFrame): void {
  switch (frame.kind) {
    case "calling":
      return onCalling(state, frame);
    case "opened":
      return onOpened(state, frame);
    case "tunnelled":
      return onTunnelled(state, frame);
    case "closed_unused":
      state.pendingLookups.delete(frame.clientPort);
      return state.ports.coverage.count(frame.host, "closed_unused");
    case "unlisted": {
      const address = state.hostNames.admit(unlistedAddress(frame.host, frame.port, HTTP_PORT));
      return state.ports.coverage.count(address, unlistedKind(frame.api));
    }
    case "labelled": {
      const connection = state.connections.get(frame.connection);
      if (connection !== undefined) connection.label = frame.project;
      return;
    }
    case "cut":
      return state.ports.heldCalls?.cut(frame.budget);
    case "blocked": {
      const connection = state.connections.get(frame.connection);
      if (connection === undefined) return;
      const budget = frame.budget ?? UNDECIDED;
      if (connection.session === null) connection.blockedBy = budget;
      else connection.session.blockNext(budget);
      return;
    }
    case "passed":
      return state.ports.heldCalls?.passed(frame.connection, frame.request, frame.pass);
    case "data": {
      const connection = state.connections.get(frame.connection);
      if (connection === undefined) return;
      connection.lastAtMs = frame.atMs;
      return connection.reader.push(frame.direction, frame.bytes, frame.atMs);
    }
    case "ended": {
      const connection = state.connections.get(frame.connection);
      if (connection === undefined) return;
      connection.endedFirst ??= frame.direction;
      return connection.reader.end(frame.direction, frame.atMs);
    }
    case "closed": {
      const isIntercepted = state.intercepted.has(frame.connection);
      const connection = removeConnection(state, frame.connection);
      if (connection === undefined) return;
      if (isIntercepted) noteTrust(state, connection, frame);
      endCalls(connection, resolveEnd(connection, frame.reason), frame.atMs);
      return state.ports.heldCalls?.closed(frame.connection);
    }
    case "lost": {
      const connection = removeConnection(state, frame.connection);
      if (connection === undefined) return;
      if (connection.isCovered) state.ports.coverage.count(connection.facts.host, "lost");
      endCalls(connection, "unreadable", state.ports.monotonicMs());
      return state.ports.heldCalls?.closed(frame.connection);
    }
  }
}

type FrameOf<Kind extends TapFrame["kind"]> = Extract<TapFrame, { kind: Kind }>;

/** Starts looking the caller up before its connection opens. */
function onCalling({ ports, pendingLookups }: CaptureState, frame: FrameOf<"calling">): void {
  const [oldest] = pendingLookups.keys();
  if (pendingLookups.size >= MAX_PENDING_LOOKUPS && oldest !== undefined) pendingLookups.delete(oldest);
  pendingLookups.set(frame.clientPort, ports.attribution(frame));
}

function onOpened(state: CaptureState, frame: FrameOf<"opened">): void {
  const { ports, connections, pendingLookups } = state;
  const { host, port } = frame;
  const attribution = pendingLookups.get(frame.clientPort) ?? ports.attribution(frame);
  pendingLookups.delete(frame.clientPort);
  const connection = openConnection(state, frame.connection, { host, port, attribution }, frame.atMs);
  connections.set(frame.connection, connection);
  if (frame.mode === "intercepted") state.intercepted.add(frame.connection);
  if (connection.isCovered) ports.coverage.count(host, "connections");
}

function onTunnelled(
  { ports, pendingLookups, hostNames }: CaptureState,
  { host, port, reason, clientPort, isPlain }: FrameOf<"tunnelled">,
): void {
  pendingLookups.delete(clientPort);
  // The names of hosts that are not a provider's, or that another user calls, are not stored.
  const isPrivate = reason === "not_provider" || reason === "other_user";
  ports.coverage.count(isPrivate ? null : host, `tunnelled_${reason}`);
  // Except those of known AI services, because the totals lack their calls. In plain HTTP, the calls themselves are recognised.
  if (reason === "not_provider" && isPlain !== true && isAiHost(host))
    ports.coverage.count(hostNames.admit(unlistedAddress(host, port, HTTPS_PORT)), "unlisted_tunnel");
}

/** Finds out from the end of a connection whether its program trusts the meter's certificate. */
function noteTrust(
  { ports, distrusting }: CaptureState,
  connection: TappedConnection,
  frame: FrameOf<"closed">,
): void {
  const { host, attribution } = connection.facts;
  const outcome = readInterceptedEnd(connection.wasUsed, frame.reason, frame.code);
  if (outcome === null) return;
  const at = ports.wallClockMs();
  void attribution.program?.().then((program) => {
    if (program !== null) distrusting.ended(program, { outcome, host, at });
  });
}

function removeConnection(
  { connections, intercepted }: CaptureState,
  id: number,
): TappedConnection | undefined {
  const connection = connections.get(id);
  intercepted.delete(id);
  connections.delete(id);
  return connection;
}

/** Stops reading a connection whose frame could not be handled. */
function discardConnection(state: CaptureState, id: number, cause: unknown): void {
  const connection = removeConnection(state, id);
  if (connection === undefined) return;
  state.work.recordFailure(connection.facts.host, cause);
  for (const call of connection.calls.values()) call.discard();
  connection.session?.discard();
  state.ports.heldCalls?.closed(id);
}

function listCallsInFlight({ connections, ports }: CaptureState): CallInFlight[] {
  const now = ports.monotonicMs();
  const calls: CallInFlight[] = [];
  for (const { calls: own, session, facts } of connections.values()) {
    const known = [...own.values()].flatMap((call) => call.progress() ?? []);
    for (const { startedAtMs, ...what } of [...known, ...(session?.progress() ?? [])]) {
      const program = () => facts.attribution.program?.() ?? Promise.resolve(null);
      calls.push({ ...what, runningMs: Math.max(0, Math.round(now - startedAtMs)), program });
    }
  }
  return calls.sort((one, other) => other.runningMs - one.runningMs);
}
