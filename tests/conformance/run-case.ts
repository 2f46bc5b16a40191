import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { createCapture } from "../../daemon/capture/capture.ts";
import type { CapturePorts } from "../../daemon/capture/ports.ts";
import type { TapDirection, TapFrame } from "../../daemon/proxy/tap-frames.ts";
import type { ExpectedCase, ExpectedRecord } from "./case-format.ts";

/** The bytes of one connection: a case, or a variant of one. */
export interface Connection {
  request: Uint8Array;
  response: Uint8Array;
  expected: Pick<ExpectedCase, "address" | "at" | "ended" | "configuration">;
}

/** Splits bytes into the pieces in which they arrive. */
export type Split = (bytes: Uint8Array) => Uint8Array[];

export const unsplit: Split = (bytes) => [bytes];

export const prices = createPriceBook(loadBundledRates());

/**
 * Meters one connection with everything in the daemon except sockets and the store: `core/metering/exchange`, the decoder of
 * content encodings, `core/metering/usage`, `core/metering/classify` and `core/pricing`, composed by `daemon/capture`.
 */
export async function meter(connection: Connection, cut: Split = unsplit): Promise<RequestRecord[]> {
  const { expected } = connection;
  const records: RequestRecord[] = [];
  const capture = createCapture(portsFor(expected, records));
  const { host, port } = expected.address;
  const data = (direction: TapDirection, bytes: Uint8Array): TapFrame[] =>
    cut(bytes).map((piece) => ({ kind: "data", connection: 1, direction, bytes: piece, atMs: 0 }));
  const frames: TapFrame[] = [
    {
      kind: "opened",
      connection: 1,
      atMs: 0,
      mode: expected.address.scheme === "https" ? "intercepted" : "absolute",
      host,
      port,
      clientPort: 50_000,
      proxyUser: null,
    },
    ...data("request", connection.request),
    ...data("response", connection.response),
    ...endFrames(expected.ended),
  ];
  capture.frames(frames);
  await capture.settled();
  return records;
}

function endFrames(ended: ExpectedCase["ended"]): TapFrame[] {
  if (ended !== "closed") return [{ kind: "closed", connection: 1, atMs: 0, reason: ended, code: null }];
  return [
    { kind: "ended", connection: 1, direction: "response", atMs: 0 },
    { kind: "ended", connection: 1, direction: "request", atMs: 0 },
    { kind: "closed", connection: 1, atMs: 0, reason: "clean", code: null },
  ];
}

let ids = 0;

/** By the deployments that a case configures, as JSON: thousands of variants have none. */
const registries = new Map<string, CapturePorts["registry"]>();

function registryFor(deployments: Readonly<Record<string, string>>): CapturePorts["registry"] {
  const key = JSON.stringify(deployments);
  const registry = registries.get(key) ?? createRegistry([], { deployments });
  registries.set(key, registry);
  return registry;
}

const redact = createRedact();

function portsFor({ at, configuration }: Connection["expected"], records: RequestRecord[]): CapturePorts {
  const attribution = {
    project: "conformance",
    tier: "header",
    workdir: null,
    client: null,
    bodyCaptureRefused: true,
  };
  return {
    registry: registryFor(configuration?.deployments ?? {}),
    prices: () => prices,
    attribution: () => ({ attribute: () => Promise.resolve(attribution) }),
    createDecoder: createZlibDecoder,
    createMessageInflater: createZlibMessageInflater,
    tokenCounter: () => null,
    atTurnEnd: (work) => setImmediate(work),
    findStoredResponse: () => null,
    sha256Hex: () => "",
    // Record ids must differ.
    randomBytes: (count) => new Uint8Array(count).fill(ids++),
    wallClockMs: () => Date.parse(at),
    monotonicMs: () => 0,
    records: { add: (record) => addRecord(records, record), attribute() {} },
    bodies: {
      isEnabledAnywhere: () => false,
      isEnabledFor: () => false,
      maxBytes: 0,
      redact,
      add() {},
    },
    coverage: { count() {}, begin: () => () => {} },
    log: {
      debug() {},
      info() {},
      warn() {},
      error(event, fields) {
        throw new Error(`the capture failed: ${event} ${JSON.stringify(fields)}`);
      },
    } as CapturePorts["log"],
  };
}

/** Adds a record, or completes the usage of an earlier one with the same id, like the store. */
function addRecord(records: RequestRecord[], record: RequestRecord): void {
  const index = records.findIndex(({ requestId }) => requestId === record.requestId);
  const earlier = records[index];
  if (earlier === undefined) return void records.push(record);
  const { requestedModel, streaming, httpStatus } = earlier;
  const model = record.model === "unknown" ? earlier.model : record.model;
  records[index] = { ...record, model, requestedModel, streaming, httpStatus };
}

/** Returns a record in the case format, its cost without lines. */
export function toExpected(record: RequestRecord): Omit<ExpectedRecord, "cost"> & { cost: object } {
  const { tokens } = record;
  return {
    provider: record.provider,
    model: record.model,
    requested_model: record.requestedModel,
    streaming: record.streaming,
    response_id: record.providerResponseId,
    http_status: record.httpStatus,
    tokens: {
      prompt: tokens.promptTokens,
      cache_read: tokens.cacheReadTokens,
      cache_write: tokens.cacheWriteTokens,
      cache_write_1h: tokens.cacheWrite1hTokens,
      completion: tokens.completionTokens,
      thinking: tokens.thinkingTokens,
    },
    tokens_complete: record.tokensComplete,
    extras: { ...record.usageExtras },
    service_tier: record.serviceTier,
    provider_cost_pico_usd: record.providerCostPicoUsd === null ? null : String(record.providerCostPicoUsd),
    cost: {
      source: record.costSource,
      pico_usd: record.costPicoUsd === null ? null : String(record.costPicoUsd),
    },
    error:
      record.errorClass === null
        ? null
        : { class: record.errorClass, retryable: record.retryable, code: record.providerErrorCode },
  };
}

/** Returns a case's expectation in the shape of `toExpected`. */
export function withoutLines(record: ExpectedRecord): ReturnType<typeof toExpected> {
  const { source, pico_usd } = record.cost;
  return { ...record, cost: { source, pico_usd } };
}
