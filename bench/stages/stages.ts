import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import { createRandomBytes, sha256Hex } from "../../adapters/crypto/node-crypto.ts";
import { createSqliteOpener } from "../../adapters/sqlite/mod.ts";
import { createExchangeReader, type ExchangeSink } from "../../core/metering/exchange/exchange-reader.ts";
import { readRequest } from "../../core/metering/usage/read-request.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { createUsageReader } from "../../core/metering/usage/usage-reader.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { priceUsage } from "../../core/pricing/price-usage.ts";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { createCapture } from "../../daemon/capture/capture.ts";
import type { CapturePorts } from "../../daemon/capture/ports.ts";
import { createRecordRedaction } from "../../daemon/capture/redact-record.ts";
import { readTapBatch, type TapBatch } from "../../daemon/proxy/tap-batch.ts";
import type { TapFrame } from "../../daemon/proxy/tap-frames.ts";
import { createTapLog } from "../../daemon/proxy/tap-log.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import { openBudgetStages } from "./budget-stage.ts";
import * as samples from "./samples.ts";

/** One stage of a call, measured on its own. */
export interface Stage {
  readonly name: string;
  /** What one run handles: a call, or a streamed event. */
  readonly unit: "call" | "event";
  /** How many units one run handles. */
  readonly units: number;
  /** The budget of a unit: CPU time in microseconds, and allocated bytes. */
  readonly budget: { readonly microseconds: number; readonly bytes: number };
  run(round: number): void;
}

const registry = createRegistry([]);
const route = registry.match({
  host: samples.host,
  port: 443,
  method: "POST",
  path: "/v1/messages",
}) as MeteredRoute;
const response = (round: number) => samples.responses[round % samples.responses.length] as Uint8Array;
const nothing = () => {};

/** Copies a call into the tap log and reads it back, as the two threads do. A batch is sent after 64 calls. */
function tapStage(): Stage["run"] {
  const reads: ArrayBuffer[] = [];
  const acknowledged = new Int32Array(new SharedArrayBuffer(4));
  const log = createTapLog({
    post(batch: TapBatch) {
      readTapBatch(batch);
      Atomics.add(acknowledged, 0, batch.memoryBytes);
      reads.push(batch.buffer);
    },
    acknowledged,
    maxBacklogBytes: 1e9,
    flushMs: 1e9,
    onLost: nothing,
  });
  const connection = { id: 1, lastAtMs: 0, lost: false };
  return (round) => {
    log.data(connection, "request", samples.request);
    log.data(connection, "response", response(round));
    if (round % 64 !== 63) return;
    log.flush();
    for (const buffer of reads.splice(0)) log.reuse(buffer);
  };
}

const emptySink: ExchangeSink = {
  requestHead: nothing,
  requestBody: nothing,
  requestEnd: nothing,
  informational: nothing,
  responseHead: nothing,
  responseBody: nothing,
  responseEnd: nothing,
  upgraded: nothing,
  upgradedBytes: nothing,
  unreadable: nothing,
};

function framingStage(): Stage["run"] {
  const reader = createExchangeReader(emptySink);
  return (round) => {
    reader.push("request", samples.request, round);
    reader.push("response", response(round), round);
  };
}

function streamFramingStage(): Stage["run"] {
  const reader = createExchangeReader(emptySink);
  return (round) => {
    reader.push("request", samples.request, round);
    reader.push("response", samples.streamHead, round);
    for (const chunk of samples.chunks) reader.push("response", chunk, round);
  };
}

const okContext = { status: 200, contentType: null, streaming: null };

function usageStage(): Stage["run"] {
  return (round) => {
    const reader = createUsageReader(route, okContext);
    reader.push(samples.responseBodies[round % samples.responseBodies.length] as Uint8Array);
    reader.end(true);
  };
}

function streamUsageStage(): Stage["run"] {
  return () => {
    const reader = createUsageReader(route, { ...okContext, streaming: true });
    for (const event of samples.events) reader.push(event);
    reader.end(true);
  };
}

const book = createPriceBook(loadBundledRates());

function priceStage(): Stage["run"] {
  const reader = createUsageReader(route, okContext);
  reader.push(samples.responseBodies[0] as Uint8Array);
  const { tokens, extras, model } = reader.end(true);
  const at = Date.UTC(2026, 10, 1);
  const { provider, requestKind } = route;
  const usage = { provider, requestKind, at, tokens, extras, model: model ?? "" };
  return () => {
    priceUsage({ ...usage, requestedModel: null, serviceTier: null, providerCostPicoUsd: null }, book);
  };
}

/** Creates the capture of a daemon whose store is `add`. The caller of each connection is known. */
function openCapture(add: (record: RequestRecord) => void) {
  const attribution = {
    project: "bench",
    tier: "header",
    workdir: null,
    client: "node",
    bodyCaptureRefused: true,
  };
  const ports: CapturePorts = {
    registry,
    prices: () => book,
    attribution: () => ({ attribute: async () => attribution, known: () => attribution }),
    createDecoder: createZlibDecoder,
    createMessageInflater: createZlibMessageInflater,
    tokenCounter: () => null,
    sha256Hex,
    randomBytes: createRandomBytes(),
    wallClockMs: Date.now,
    monotonicMs: () => 1,
    atTurnEnd: setImmediate,
    records: { add, attribute: nothing },
    findStoredResponse: () => null,
    bodies: {
      isEnabledAnywhere: () => false,
      isEnabledFor: () => false,
      maxBytes: 0,
      redact: createRedact(),
      add: nothing,
    },
    coverage: { count: nothing, begin: () => nothing },
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  };
  const capture = createCapture(ports);
  const opened: TapFrame = {
    kind: "opened",
    connection: 1,
    atMs: 0,
    mode: "intercepted",
    host: samples.host,
    port: 443,
    clientPort: 1,
    proxyUser: null,
  };
  capture.frames([opened]);
  return (direction: "request" | "response", bytes: Uint8Array) =>
    capture.frames([{ kind: "data", connection: 1, direction, bytes, atMs: 1 }]);
}

function captureStage(): Stage["run"] {
  const pass = openCapture(nothing);
  return (round) => {
    pass("request", samples.request);
    pass("response", response(round));
  };
}

function streamCaptureStage(): Stage["run"] {
  const pass = openCapture(nothing);
  return () => {
    pass("request", samples.request);
    pass("response", samples.streamHead);
    for (const chunk of samples.chunks) pass("response", chunk);
  };
}

/** The records of the sample calls. */
function createRecords(): RequestRecord[] {
  const records: RequestRecord[] = [];
  const pass = openCapture((record) => void records.push(record));
  for (const each of samples.responses) {
    pass("request", samples.request);
    pass("response", each);
  }
  return records;
}

/** How many records one transaction stores, as in a busy daemon. */
const RECORDS_PER_TRANSACTION = 64;

async function writeStage(records: readonly RequestRecord[]): Promise<{ run: Stage["run"]; close(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "meter-stages-"));
  const store = await openStore(createSqliteOpener(), join(folder, "meter.db"));
  const randomBytes = createRandomBytes();
  let batch: RequestRecord[] = [];
  return {
    run(round) {
      const record = records[round % records.length] as RequestRecord;
      batch.push({ ...record, requestId: Buffer.from(randomBytes(16)).toString("hex") });
      if (batch.length < RECORDS_PER_TRANSACTION) return;
      store.insertBatch({ records: batch, bodies: [], coverage: [] });
      batch = [];
    },
    close() {
      store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens all stages. `close` removes their files. */
export async function openStages(): Promise<{ stages: Stage[]; close(): void }> {
  const records = createRecords();
  const write = await writeStage(records);
  const redactRecord = createRecordRedaction(createRedact());
  const { canonicalPrompt } = readRequest(route, samples.requestBody);
  const budget = await openBudgetStages(registry, book);
  const call = (name: string, microseconds: number, bytes: number, run: Stage["run"]): Stage => ({
    name,
    unit: "call",
    units: 1,
    budget: { microseconds, bytes },
    run,
  });
  const event = (name: string, microseconds: number, bytes: number, run: Stage["run"]): Stage => ({
    ...call(name, microseconds, bytes, run),
    unit: "event",
    units: samples.streamedEvents,
  });
  const stages = [
    call("tap log, both ends", 2, 1_000, tapStage()),
    call("framing", 4, 4_000, framingStage()),
    call("request facts and prompt", 3, 4_500, () => void readRequest(route, samples.requestBody)),
    call("prompt hash", 1, 200, () => void sha256Hex(canonicalPrompt ?? "")),
    call("usage", 7, 5_500, usageStage()),
    call("price", 2, 3_500, priceStage()),
    call("redaction of the record", 5, 4_500, (round) => {
      redactRecord(records[round % records.length] as RequestRecord);
    }),
    call("capture of a call", 30, 27_000, captureStage()),
    call("store", 25, 1_200, write.run),
    call("budget: decision", 3, 2_000, budget.decision),
    call("budget: asked decision", 3, 3_500, budget.askedDecision),
    call("budget: bound of a call", 6, 4_000, budget.bound),
    call("budget: dividing", 6, 4_000, budget.divide),
    call("budget: all, one call", 8, 6_000, budget.whole),
    call("budget: the same, 200 KB", 8, 6_000, budget.large),
    event("framing of a stream", 0.3, 200, streamFramingStage()),
    event("usage of a stream", 0.8, 250, streamUsageStage()),
    event("capture of a stream", 1.5, 1_000, streamCaptureStage()),
  ];
  return { stages, close: write.close };
}
