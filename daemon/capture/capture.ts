import {
  createExchangeReader,
  type ExchangeReader,
  type ExchangeSink,
  headerValue,
} from "../../core/exchange/mod.ts";
import type { RouteMatch } from "../../core/usage/mod.ts";
import type { TapFrame } from "../proxy/tap-frames.ts";
import { createMeteredCall, type MeteredCall } from "./metered-call.ts";
import type { CapturePorts, ConnectionAttribution, ConnectionFacts } from "./ports.ts";
import type { Recording } from "./record-call.ts";
import { createResponseMemory } from "./response-memory.ts";
import type { CallEnd } from "./to-record.ts";
import type { WebSocketSession } from "./websocket-session.ts";

/** What turns the tap log into records: one reader per connection, one metered call per exchange worth metering. */
export interface Capture {
  /** Takes the next frames of the tap log, in order. Never throws: what goes wrong costs a counter and a log line. */
  frames(frames: readonly TapFrame[]): void;
  /** Resolves when every call that has ended has become a record. */
  idle(): Promise<void>;
  /** The connections that are between requests: closing them disturbs nobody. */
  quiet(): { connection: number; lastAtMs: number }[];
}

/** Look-ups that are kept for connections to come; a client that asks and goes away leaves one behind. */
const MAX_CALLERS = 256;

interface TappedConnection {
  readonly facts: ConnectionFacts;
  readonly reader: ExchangeReader;
  readonly calls: Map<number, MeteredCall>;
  /** Exchanges under way, metered or not; what is upgraded or unreadable stays under way until it is closed. */
  underWay: number;
  lastAtMs: number;
  /** The project that a gateway request named in its head, until that request shows up. */
  label: string | null;
  /** What the connection carries after an upgrade, where that can be read. */
  session: WebSocketSession | null;
}

export function createCapture(ports: CapturePorts): Capture {
  const connections = new Map<number, TappedConnection>();
  const recording: Recording = { ports, memory: createResponseMemory(ports.findKeptResponse) };
  /** Look-ups that began before their connection was opened, by the client's port. */
  const callers = new Map<number, ConnectionAttribution>();
  let unfinished = 0;
  let waiting: (() => void)[] = [];

  /** Counts a call as under way until what this gives back is called, with what went wrong or null. */
  const begin = (host: string) => {
    unfinished += 1;
    const ended = ports.coverage.begin(host);
    return (cause: unknown) => {
      if (cause !== null) failed(host, cause);
      ended();
      unfinished -= 1;
      if (unfinished === 0) {
        for (const resolve of waiting) resolve();
        waiting = [];
      }
    };
  };

  /** The name of the error alone: its message may quote what passed. */
  function failed(host: string, cause: unknown): void {
    ports.coverage.count(host, "capture_failed");
    ports.log.error("capture.failed", { host, error: cause instanceof Error ? cause.name : typeof cause });
  }

  function open(frame: Extract<TapFrame, { kind: "opened" }>): void {
    const facts: ConnectionFacts = {
      host: frame.host,
      port: frame.port,
      attribution: callers.get(frame.clientPort) ?? ports.attribution(frame),
    };
    callers.delete(frame.clientPort);
    const calls = new Map<number, MeteredCall>();
    const connection: TappedConnection = {
      facts,
      calls,
      underWay: 0,
      lastAtMs: frame.atMs,
      label: null,
      session: null,
      reader: createExchangeReader(sinkFor(() => connection)),
    };
    connections.set(frame.connection, connection);
    ports.coverage.count(frame.host, "connections");
  }

  function sinkFor(self: () => TappedConnection): ExchangeSink {
    const settle = (id: number, end: CallEnd, atMs: number) => {
      const call = self().calls.get(id);
      if (call === undefined) return;
      self().calls.delete(id);
      call.end(end, atMs);
    };
    return {
      requestHead(id, head, atMs) {
        const { facts, calls, label } = self();
        self().label = null;
        self().underWay += 1;
        const path = head.target.split("?", 1)[0] as string;
        const route: RouteMatch = ports.registry.match({
          host: facts.host,
          port: facts.port,
          method: head.method,
          path,
        });
        if (route.kind === "not_provider") return;
        if (route.kind !== "metered") {
          ports.coverage.count(facts.host, route.kind);
          return;
        }
        const headerProject = headerValue(head.headers, "x-meter-project") ?? label;
        const start = { facts, route, head, path, headerProject, startedAtMs: atMs };
        calls.set(id, createMeteredCall(recording, start, begin(facts.host)));
      },
      requestBody: (id, bytes) => self().calls.get(id)?.requestBody(bytes),
      requestEnd: (id) => self().calls.get(id)?.requestEnd(),
      informational() {},
      responseHead: (id, head, atMs) => self().calls.get(id)?.responseHead(head, atMs),
      responseBody: (id, bytes) => self().calls.get(id)?.responseBody(bytes),
      responseEnd(id, complete, atMs) {
        self().underWay -= 1;
        settle(id, complete ? "complete" : "cut", atMs);
      },
      upgraded(id) {
        const { calls, facts } = self();
        const call = calls.get(id);
        if (call === undefined) return;
        calls.delete(id);
        self().session = call.upgrade(() => begin(facts.host));
        if (self().session === null) ports.coverage.count(facts.host, "websocket");
      },
      upgradedBytes: (direction, bytes, atMs) => self().session?.push(direction, bytes, atMs),
      unreadable(reason, atMs) {
        ports.coverage.count(self().facts.host, "unreadable");
        self().underWay += 1;
        ports.log.warn("capture.unreadable", { host: self().facts.host, reason });
        endAll(self(), "unreadable", atMs);
      },
    };
  }

  function endAll(connection: TappedConnection, end: CallEnd, atMs: number): void {
    for (const call of connection.calls.values()) call.end(end, atMs);
    connection.calls.clear();
    connection.session?.end(end, atMs);
    connection.session = null;
  }

  function drop(id: number): TappedConnection | undefined {
    const connection = connections.get(id);
    connections.delete(id);
    return connection;
  }

  function take(frame: TapFrame): void {
    switch (frame.kind) {
      case "calling": {
        const [oldest] = callers.keys();
        if (callers.size >= MAX_CALLERS && oldest !== undefined) callers.delete(oldest);
        callers.set(frame.clientPort, ports.attribution(frame));
        return;
      }
      case "opened":
        return open(frame);
      case "tunnelled":
        callers.delete(frame.clientPort);
        // The names of hosts that are no provider's are nobody's business: they are counted without it.
        return ports.coverage.count(
          frame.reason === "not_provider" ? null : frame.host,
          `tunnelled_${frame.reason}`,
        );
      case "labelled": {
        const connection = connections.get(frame.connection);
        if (connection !== undefined) connection.label = frame.project;
        return;
      }
      case "data": {
        const connection = connections.get(frame.connection);
        if (connection === undefined) return;
        connection.lastAtMs = frame.atMs;
        return connection.reader.push(frame.direction, frame.bytes, frame.atMs);
      }
      case "ended":
        return connections.get(frame.connection)?.reader.end(frame.direction, frame.atMs);
      case "closed": {
        const connection = drop(frame.connection);
        if (connection !== undefined) endAll(connection, frame.reason, frame.atMs);
        return;
      }
      case "lost": {
        const connection = drop(frame.connection);
        if (connection === undefined) return;
        ports.coverage.count(connection.facts.host, "lost");
        return endAll(connection, "unreadable", ports.monotonicMs());
      }
    }
  }

  return {
    frames(frames) {
      for (const frame of frames) {
        try {
          take(frame);
        } catch (cause) {
          const connection = drop(frame.connection);
          if (connection === undefined) continue;
          failed(connection.facts.host, cause);
          for (const call of connection.calls.values()) call.discard();
        }
      }
    },
    quiet: () =>
      [...connections]
        .filter(([, { underWay }]) => underWay === 0)
        .map(([connection, { lastAtMs }]) => ({ connection, lastAtMs })),
    idle: () => (unfinished === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
