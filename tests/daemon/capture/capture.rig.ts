import { Buffer } from "node:buffer";
import { createZlibMessageInflater } from "../../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../../adapters/content-decoder/zlib.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import type { TokenCounter } from "../../../core/ports/token-counter.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { type Capture, type CaptureLimits, createCapture } from "../../../daemon/capture/capture.ts";
import type { CapturePorts } from "../../../daemon/capture/ports.ts";
import type { TapDirection, TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import type { StoredResponse } from "../../../daemon/store/port/records.ts";

/** The fixed time of the rig's clocks, 2026-03-02 12:00 UTC. */
export const rigStart = Date.UTC(2026, 2, 2, 12);

/** A capture for tests, with everything that it made. */
export interface CaptureRig {
  readonly capture: Capture;
  /** The added records, in order. */
  readonly records: RequestRecord[];
  /** The records as a store has them: one per request ID, with completed usage. */
  readonly stored: Map<string, RequestRecord>;
  readonly counts: Record<string, number>;
  /** Calls that are neither recorded nor discarded. */
  readonly unfinished: { readonly count: number };
  /** Opens a connection to a host. */
  connect(host: string): RigConnection;
  /** Creates a new capture on the same store, as after a restart. */
  restart(): CaptureRig;
}

export interface RigConnection {
  pass(direction: TapDirection, bytes: Uint8Array | string, atMs?: number): void;
  close(reason?: Extract<TapFrame, { kind: "closed" }>["reason"], atMs?: number): void;
}

const prices = createPriceBook(loadBundledRates());

/** Creates a capture with the real readers, decoders and prices, and an in-memory store. */
export function createCaptureRig(
  options: {
    tokenCounter?: TokenCounter;
    stored?: Map<string, RequestRecord>;
    deployments?: Record<string, string>;
    /** Ports that replace the rig's. */
    ports?: Partial<CapturePorts>;
    limits?: CaptureLimits;
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
    tokenCounter: () => tokenCounter,
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
      attribute(late) {
        for (const record of late) stored.set(record.requestId, record);
      },
    },
    findStoredResponse(id): StoredResponse | null {
      for (const {
        providerResponseId,
        isResponseRefetchable,
        requestId,
        tokensComplete,
      } of stored.values()) {
        if (providerResponseId === id && isResponseRefetchable === true) return { requestId, tokensComplete };
      }
      return null;
    },
    bodies: {
      isEnabledAnywhere: () => false,
      isEnabledFor: () => false,
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
  const capture = createCapture(ports, options.limits);
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

/** Runs one call on a new connection, answered with the body. */
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
  await rig.capture.settled();
}
