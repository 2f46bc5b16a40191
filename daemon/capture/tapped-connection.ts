import { methodTemplate, pathTemplate } from "../../core/metering/coverage/path-template.ts";
import { createExchangeReader, type ExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import { headerValue, pathOf, type RequestHead } from "../../core/metering/exchange/head.ts";
import type { CallStart } from "./call-start.ts";
import { createLimitCall } from "./limit-call.ts";
import { createMeteredCall, type MeteredCall } from "./metered-call.ts";
import type { ConnectionFacts } from "./ports.ts";
import type { Recording } from "./record-call.ts";
import type { CallEnd } from "./to-record.ts";
import type { UnfinishedWork } from "./unfinished-work.ts";
import type { WebSocketSession } from "./websocket-session.ts";

/** A logged connection and the calls in progress on it. */
export interface TappedConnection {
  /** Its number in the log. */
  readonly id: number;
  readonly facts: ConnectionFacts;
  readonly reader: ExchangeReader;
  /** The metered calls in progress, by the reader's number of the exchange. */
  readonly calls: Map<number, MeteredCall>;
  /** Exchanges in progress, metered or not. An upgraded or unreadable one stays in progress until the connection closes. */
  inProgress: number;
  lastAtMs: number;
  /** Whether the client has sent a request. */
  wasUsed: boolean;
  /** The project that a gateway request named in its head, until the reader reports that request. */
  label: string | null;
  /** The budget that refused the next request, until the reader reports that request. */
  blockedBy: string | null;
  /** The WebSocket session after an upgrade, if it can be read. */
  session: WebSocketSession | null;
  /**
   * Whether what can't be read counts in the coverage. On an address that other programs share, it does only after a metered
   * call.
   */
  isCovered: boolean;
  /** The direction that sent its FIN first. */
  endedFirst: "request" | "response" | null;
}

/** What the connections of one capture share. */
export interface CaptureContext {
  readonly recording: Recording;
  readonly work: UnfinishedWork;
}

export function openConnection(
  context: CaptureContext,
  id: number,
  facts: ConnectionFacts,
  openedAtMs: number,
): TappedConnection {
  const { coverage, log, registry } = context.recording.ports;
  const connection: TappedConnection = {
    id,
    facts,
    calls: new Map(),
    inProgress: 0,
    lastAtMs: openedAtMs,
    wasUsed: false,
    label: null,
    blockedBy: null,
    session: null,
    isCovered: !registry.isSharedHost(facts.host, facts.port),
    endedFirst: null,
    reader: createExchangeReader({
      requestHead: (id, head, atMs) => onRequestHead(context, connection, id, head, atMs),
      requestBody: (id, bytes) => connection.calls.get(id)?.requestBody(bytes),
      requestEnd: (id) => connection.calls.get(id)?.requestEnd(),
      informational() {},
      responseHead: (id, head, atMs) => connection.calls.get(id)?.responseHead(head, atMs),
      responseBody: (id, bytes) => connection.calls.get(id)?.responseBody(bytes),
      responseEnd(id, complete, atMs) {
        connection.inProgress -= 1;
        const call = connection.calls.get(id);
        connection.calls.delete(id);
        call?.end(complete ? "complete" : resolveEnd(connection, "cut"), atMs);
      },
      upgraded: (id) => onUpgraded(context, connection, id),
      upgradedBytes: (direction, bytes, atMs) => connection.session?.push(direction, bytes, atMs),
      unreadable(reason, atMs) {
        connection.inProgress += 1;
        if (connection.isCovered) {
          coverage.count(facts.host, "unreadable");
          log.warn("capture.unreadable", { host: facts.host, reason });
        }
        endCalls(connection, "unreadable", atMs);
      },
    }),
  };
  return connection;
}

/** Follows a call that a budget admitted until it becomes a record. The turns of a WebSocket have negative numbers. */
function followHeld(
  { ports: { heldCalls } }: Recording,
  { id, facts: { attribution } }: TappedConnection,
  request: number,
  { head, route, headerProject: project }: Pick<CallStart, "head" | "route" | "headerProject">,
): Pick<CallStart, "requestRead" | "ended" | "followTurn"> {
  if (heldCalls === undefined) return {};
  const follow = (number: number) => {
    heldCalls.began(id, number);
    return (requestId: string | null) => heldCalls.ended(id, number, requestId);
  };
  return {
    requestRead: ({ requestedModel, deployedModel, stated }) =>
      heldCalls.read(id, request, {
        ...{ head, route, project, attribution, requestedModel },
        ...(deployedModel !== undefined && { deployedModel }),
        ...(stated !== undefined && { stated }),
      }),
    ended: follow(request),
    followTurn: (turn: number) => follow(-turn),
  };
}

/** Begins a metered call if the request's route is metered; otherwise counts the request. */
function onRequestHead(
  { recording, work }: CaptureContext,
  connection: TappedConnection,
  id: number,
  head: RequestHead,
  atMs: number,
): void {
  const { facts, calls, label, blockedBy } = connection;
  connection.label = null;
  connection.blockedBy = null;
  connection.inProgress += 1;
  connection.wasUsed = true;
  const path = pathOf(head.target);
  const { host, port } = facts;
  const route = recording.ports.registry.match({ host, port, method: head.method, path });
  // No record will follow.
  if (route.kind !== "metered") recording.ports.heldCalls?.ended(connection.id, id, null);
  if (route.kind === "not_provider") return;
  if (route.kind !== "metered") {
    const isUnknown = route.kind === "unknown_path";
    recording.ports.coverage.count(host, route.kind, isUnknown ? describeCall(head.method, path) : undefined);
    const limitCall = isUnknown ? null : createLimitCall(recording.ports, route.provider, head);
    if (limitCall !== null) calls.set(id, limitCall);
    return;
  }
  connection.isCovered = true;
  const headerProject = headerValue(head.headers, "x-meter-project") ?? label;
  const git = facts.attribution.git?.() ?? null;
  const start = {
    facts,
    route,
    head,
    path,
    headerProject,
    startedAtMs: atMs,
    blockedBy,
    git,
    ...followHeld(recording, connection, id, { head, route, headerProject }),
  };
  calls.set(id, createMeteredCall(recording, start, work.begin(host)));
}

const describeCall = (method: string, path: string) => ({
  method: methodTemplate(method),
  path: pathTemplate(path),
});

function onUpgraded({ recording, work }: CaptureContext, connection: TappedConnection, id: number): void {
  const { calls, facts } = connection;
  const call = calls.get(id);
  if (call === undefined) return;
  calls.delete(id);
  connection.session = call.upgrade(() => work.begin(facts.host));
  if (connection.session === null) recording.ports.coverage.count(facts.host, "websocket");
}

/** Ends every call that is in progress, and the session. */
export function endCalls(connection: TappedConnection, end: CallEnd, atMs: number): void {
  for (const call of connection.calls.values()) call.end(end, atMs);
  connection.calls.clear();
  connection.session?.end(end, atMs);
  connection.session = null;
}

/** Ends that may be the upstream's reaction to a client that hung up. */
const endsAfterClientFin: ReadonlySet<CallEnd> = new Set(["cut", "clean", "upstream_reset"]);

/**
 * Returns how a call without a complete response ended. Decision: a client that sends its FIN before the upstream does
 * has aborted the call, whatever the upstream does then. Clients that half-close and wait are rare, and upstreams often answer
 * a FIN by closing.
 */
export function resolveEnd({ endedFirst }: TappedConnection, end: CallEnd): CallEnd {
  return endedFirst === "request" && endsAfterClientFin.has(end) ? "client_aborted" : end;
}
