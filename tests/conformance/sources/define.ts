import type {
  DocumentSource,
  ExpectedCase,
  ExpectedCost,
  ExpectedCostLine,
  ExpectedRecord,
  ExpectedTokens,
} from "../case-format.ts";
import { concat, type Reply, responseBytes, utf8 } from "./wire.ts";

/** A case with its bytes, ready to be written. */
export interface WireCase {
  folder: string;
  name: string;
  request: Uint8Array;
  response: Uint8Array;
  expected: ExpectedCase;
}

/** USD per million tokens, as in the provider's price list. */
export interface Rates {
  input: string;
  output?: string;
  cacheRead?: string;
  cacheWrite?: string;
  cacheWrite1h?: string;
  /** Per search: USD per million searches. */
  webSearch?: string;
}

/** A line of a cost that was computed by hand. */
export type Line = readonly [what: string, quantity: number, usdPerMillion: string];

/** The expected fields of a record. Fields that are left out have the API's default; counts that are left out are null. */
export interface RecordSpec {
  model?: string;
  requestedModel?: string | null;
  streaming?: boolean;
  id?: string | null;
  status?: number | null;
  tokens?: Partial<ExpectedTokens>;
  complete?: boolean;
  extras?: Record<string, number>;
  tier?: string | null;
  providerCost?: string;
  /** Rates for the counts as they are, or the lines of the sum. Unpriced without; `provider` if the provider states it. */
  cost?: Rates | readonly Line[] | "provider" | undefined;
  error?: readonly [errorClass: string, retryable: boolean | null, code: string | null];
  provider?: string;
}

interface CaseOptions {
  source?: DocumentSource;
  method?: string;
  path?: string;
  /** Members that override those of the API's request; undefined removes one. A string is the body itself. */
  request?: Readonly<Record<string, unknown>> | string;
  requestHeaders?: readonly (readonly [string, string])[];
  at?: string;
  ended?: ExpectedCase["ended"];
  configuration?: ExpectedCase["configuration"];
  host?: string;
}

/** The parts that the cases of an API share. */
export interface ApiSpec {
  folder: string;
  provider: string;
  host: string;
  port?: number;
  scheme?: "https" | "http";
  method?: string;
  path: string;
  request: Readonly<Record<string, unknown>>;
  /** The model, if the path contains it. */
  pathModel?: string;
  source: DocumentSource;
  /** The id in the API's responses here. */
  id?: string | null;
  /** Whether every call costs 0: the server is on this machine. */
  free?: boolean;
}

/** The day whose prices apply to the cases, unless a case states another. */
const PRICED_AT = "2026-11-21T12:00:00.000Z";

interface ApiCases {
  readonly cases: readonly WireCase[];
  /** Adds a case of one exchange. `records` is null if nothing is billed. */
  add(
    name: string,
    about: string,
    reply: Reply,
    records: RecordSpec | readonly RecordSpec[] | null,
    options?: CaseOptions,
  ): void;
  /** Adds a case with given bytes: several exchanges on one connection, or no HTTP after the head. */
  addBytes(
    name: string,
    about: string,
    bytes: { request: Uint8Array; response: Uint8Array },
    records: RecordSpec | readonly RecordSpec[] | null,
    options?: CaseOptions,
  ): void;
}

export function defineApi(api: ApiSpec): ApiCases {
  const cases: WireCase[] = [];

  const addBytes: ApiCases["addBytes"] = (name, about, bytes, records, options = {}) => {
    const body = requestOf(api, options);
    const requestedModel =
      typeof body === "object" && typeof body.model === "string" ? body.model : api.pathModel;
    const specs = records === null ? [] : "length" in records ? records : [records];
    cases.push({
      folder: api.folder,
      name,
      ...bytes,
      expected: {
        about,
        source: options.source ?? api.source,
        address: { scheme: api.scheme ?? "https", host: options.host ?? api.host, port: api.port ?? 443 },
        at: options.at ?? PRICED_AT,
        ended: options.ended ?? "closed",
        configuration: options.configuration ?? null,
        records: specs.map((spec) => recordOf(api, requestedModel ?? null, body, spec)),
      },
    });
  };

  return {
    cases,
    addBytes,
    add(name, about, reply, records, options = {}) {
      const withStatus = (spec: RecordSpec): RecordSpec => ({ status: reply.status, ...spec });
      const specs =
        records === null ? null : "length" in records ? records.map(withStatus) : withStatus(records);
      const bytes = { request: requestBytes(api, options), response: responseBytes(reply) };
      addBytes(name, about, bytes, specs, options);
    },
  };
}

function requestOf(api: ApiSpec, options: CaseOptions): Record<string, unknown> | string {
  if (typeof options.request === "string") return options.request;
  const merged = { ...api.request, ...options.request };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

export function requestBytes(api: ApiSpec, options: CaseOptions = {}): Uint8Array {
  const method = options.method ?? api.method ?? "POST";
  const body = requestOf(api, options);
  const text = method === "GET" ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const bytes = utf8(text);
  const headers = [
    `${method} ${options.path ?? api.path} HTTP/1.1`,
    `Host: ${options.host ?? api.host}${api.port === undefined ? "" : `:${api.port}`}`,
    "User-Agent: conformance/1",
    ...(options.requestHeaders ?? []).map(([name, value]) => `${name}: ${value}`),
    ...(method === "GET" ? [] : ["Content-Type: application/json", `Content-Length: ${bytes.length}`]),
  ];
  return concat(utf8(`${headers.join("\r\n")}\r\n\r\n`), bytes);
}

const NO_TOKENS: ExpectedTokens = {
  prompt: null,
  cache_read: null,
  cache_write: null,
  cache_write_1h: null,
  completion: null,
  thinking: null,
};

function recordOf(
  api: ApiSpec,
  asked: string | null,
  request: Record<string, unknown> | string,
  spec: RecordSpec,
): ExpectedRecord {
  const tokens = { ...NO_TOKENS, ...spec.tokens };
  const streams = typeof request === "object" && request.stream === true;
  return {
    provider: spec.provider ?? api.provider,
    model: spec.model ?? asked ?? "unknown",
    requested_model: spec.requestedModel === undefined ? asked : spec.requestedModel,
    streaming: spec.streaming ?? streams,
    response_id: spec.id === undefined ? (spec.error !== undefined ? null : (api.id ?? null)) : spec.id,
    http_status: spec.status === undefined ? 200 : spec.status,
    tokens,
    tokens_complete: spec.complete ?? spec.tokens !== undefined,
    extras: spec.extras ?? {},
    service_tier: spec.tier ?? null,
    provider_cost_pico_usd: spec.providerCost ?? null,
    cost: api.free === true ? costOf({ ...spec, cost: [] }, tokens) : costOf(spec, tokens),
    error:
      spec.error === undefined
        ? null
        : { class: spec.error[0], retryable: spec.error[1], code: spec.error[2] },
  };
}

function costOf(spec: RecordSpec, tokens: ExpectedTokens): ExpectedCost {
  if (spec.cost === undefined) return { source: "unpriced", pico_usd: null, lines: [] };
  if (spec.cost === "provider")
    return { source: "provider", pico_usd: spec.providerCost as string, lines: [] };
  const lines = ("length" in spec.cost ? spec.cost : linesOf(spec.cost, tokens, spec.extras ?? {}))
    .filter(([, quantity]) => quantity > 0)
    .map(([what, quantity, usd]): ExpectedCostLine => ({ what, quantity, usd_per_million: usd }));
  const sum = lines.reduce(
    (total, line) => total + BigInt(line.quantity) * microUsd(line.usd_per_million),
    0n,
  );
  return { source: "computed", pico_usd: String(sum), lines };
}

function linesOf(rates: Rates, tokens: ExpectedTokens, extras: Record<string, number>): Line[] {
  const oneHour = tokens.cache_write_1h ?? 0;
  const rate = (text: string | undefined, what: string, quantity: number): Line => {
    if (text === undefined && quantity > 0) throw new RangeError(`a rate is missing: ${what}`);
    return [what, quantity, text ?? "0"];
  };
  return [
    rate(rates.input, "input", tokens.prompt ?? 0),
    rate(rates.cacheRead, "cache read", tokens.cache_read ?? 0),
    rate(rates.cacheWrite, "cache write", (tokens.cache_write ?? 0) - oneHour),
    rate(rates.cacheWrite1h, "cache write 1h", oneHour),
    rate(rates.output, "output", tokens.completion ?? 0),
    rate(rates.output, "thinking", tokens.thinking ?? 0),
    rate(rates.webSearch, "web search", extras.web_search_requests ?? 0),
  ];
}

/** Converts USD per million to whole micro-USD, which equals the cost of one unit in pico-USD. */
export function microUsd(usd: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,6}))?$/.exec(usd);
  if (match === null) throw new RangeError(`no price in USD with at most six places: ${usd}`);
  return BigInt(`${match[1]}${(match[2] ?? "").padEnd(6, "0")}`);
}
