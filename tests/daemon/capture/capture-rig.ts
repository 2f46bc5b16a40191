import { Buffer } from "node:buffer";
import { createZlibDecoder, createZlibMessageInflater } from "../../../adapters/content-decoder/mod.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import type { TokenCounter } from "../../../core/ports/token-counter.ts";
import { createPriceBook, loadBundledRates } from "../../../core/pricing/mod.ts";
import type { RequestRecord } from "../../../core/record.ts";
import { createRegistry } from "../../../core/usage/mod.ts";
import { type Capture, createCapture } from "../../../daemon/capture/capture.ts";
import type { CapturePorts } from "../../../daemon/capture/ports.ts";
import type { TapDirection, TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import type { KeptResponse } from "../../../daemon/store/mod.ts";

/** The moment at which the rig's clocks stand, 2026-03-02 12:00 UTC. */
export const rigStart = Date.UTC(2026, 2, 2, 12);

/** Everything that capture made in a test, and a hand to feed it. */
export interface CaptureRig {
  readonly capture: Capture;
  /** What was handed on, in that order. */
  readonly records: RequestRecord[];
  /** As a store has them: one for each request id, with what was filled in. */
  readonly stored: Map<string, RequestRecord>;
  readonly counts: Record<string, number>;
  /** Calls that began and are neither a record nor given up. */
  readonly unfinished: { readonly count: number };
  /** Opens a connection to a host. */
  connect(host: string): RigConnection;
  /** A new capture on the same store, as after a restart. */
  restart(): CaptureRig;
}

export interface RigConnection {
  pass(direction: TapDirection, bytes: Uint8Array | string, atMs?: number): void;
  close(reason?: Extract<TapFrame, { kind: "closed" }>["reason"], atMs?: number): void;
}

const prices = createPriceBook(loadBundledRates());

/** Capture with its real readers, decoders and prices, and a store of plain values. */
export function createCaptureRig(
  options: {
    tokenCounter?: TokenCounter;
    stored?: Map<string, RequestRecord>;
    deployments?: Record<string, string>;
    /** Ports of the test's own, in the place of the rig's. */
    ports?: Partial<CapturePorts>;
  } = {},
): CaptureRig {
  const { tokenCounter = null, stored = new Map(), deployments = {} } = options;
  const records: RequestRecord[] = [];
  const counts: Record<string, number> = {};
  const unfinished = { count: 0 };
  let connections = 0;
  let random = stored.size;
  const ports: CapturePorts = {
    registry: createRegistry([], { deployments }),
    prices: () => prices,
    attribution: () => ({
      attribute: () =>
        Promise.resolve({
          project: "rig",
          tier: "header",
          workdir: null,
          client: null,
          bodyCaptureRefused: true,
        }),
    }),
    createDecoder: createZlibDecoder,
    createMessageInflater: createZlibMessageInflater,
    tokenCounter,
    sha256Hex,
    randomBytes: (count) => new Uint8Array(count).fill(++random),
    wallClockMs: () => rigStart,
    monotonicMs: () => 0,
    atTurnEnd: setImmediate,
    records: {
      add(record) {
        records.push(record);
        stored.set(record.requestId, record);
      },
    },
    findKeptResponse(id): KeptResponse | null {
      for (const { providerResponseId, responseIsKept, requestId, tokensComplete } of stored.values()) {
        if (providerResponseId === id && responseIsKept === true) return { requestId, tokensComplete };
      }
      return null;
    },
    bodies: {
      wantedAnywhere: () => false,
      wantedFor: () => false,
      maxBytes: 0,
      redact: (text) => ({ ok: true, text, summary: [] }),
      add() {},
    },
    coverage: {
      count(_, what) {
        counts[what] = (counts[what] ?? 0) + 1;
      },
      begin() {
        let isOpen = true;
        unfinished.count += 1;
        return () => {
          if (isOpen) unfinished.count -= 1;
          isOpen = false;
        };
      },
    },
    log: {
      debug() {},
      info() {},
      warn: (event) => {
        counts[event] = (counts[event] ?? 0) + 1;
      },
      error: (event, fields) => {
        throw new Error(`${event} ${JSON.stringify(fields)}`);
      },
    },
    ...options.ports,
  };
  const capture = createCapture(ports);
  return {
    capture,
    records,
    stored,
    counts,
    unfinished,
    connect(host) {
      const connection = ++connections;
      const mode = "intercepted";
      const clientPort = 50_000 + connection;
      capture.frames([
        { kind: "opened", connection, atMs: 0, mode, host, port: 443, clientPort, proxyUser: null },
      ]);
      return {
        pass(direction, bytes, atMs = 0) {
          const copy = Buffer.from(bytes as string);
          capture.frames([{ kind: "data", connection, direction, bytes: copy, atMs }]);
        },
        close(reason = "clean", atMs = 0) {
          capture.frames([{ kind: "closed", connection, atMs, reason, code: null }]);
        },
      };
    },
    restart: () => createCaptureRig({ ...options, stored }),
  };
}

/** One call on a connection of its own, answered with the body. */
export async function call(
  rig: CaptureRig,
  request: { host?: string; method?: string; path: string; body?: unknown },
  answer: { status?: number; body: string; cut?: boolean },
): Promise<void> {
  const { host = "api.openai.com", method = request.body === undefined ? "GET" : "POST", path } = request;
  const sent = request.body === undefined ? "" : JSON.stringify(request.body);
  const connection = rig.connect(host);
  connection.pass(
    "request",
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`,
  );
  const length = Buffer.byteLength(answer.body) + (answer.cut === true ? 1 : 0);
  connection.pass(
    "response",
    `HTTP/1.1 ${answer.status ?? 200} Answered\r\nContent-Length: ${length}\r\n\r\n${answer.body}`,
    20,
  );
  connection.close(answer.cut === true ? "client_aborted" : "clean", 30);
  await rig.capture.idle();
}
