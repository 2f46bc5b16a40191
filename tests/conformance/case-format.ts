/** A file of `cases/`, which holds the cases of one API. The file is named after the API. See `README.md`. */
export interface CaseFile {
  cases: PackedCase[];
}

/** A conformance case: the bytes of both directions of one connection, and what a meter must read from them. */
export interface PackedCase {
  name: string;
  expected: ExpectedCase;
  request: PackedBytes;
  response: PackedBytes;
}

/** Bytes in JSON: as text if they are valid UTF-8, otherwise in base64. */
export type PackedBytes = { text: string } | { base64: string };

/** What a meter must read from a case. */
export interface ExpectedCase {
  /** The subject of the case, in one sentence. */
  about: string;
  /** The provider's source: a page or an SDK's type file, and when it was read. */
  source: DocumentSource;
  /** The server. The bytes are those inside TLS if the scheme is `https`. */
  address: { scheme: "https" | "http"; host: string; port: number };
  /** When the request was sent: prices are dated. */
  at: string;
  /** How the connection ended after the last byte: in order, or aborted by one side. */
  ended: "closed" | "client_aborted" | "upstream_timeout" | "upstream_unreachable";
  /** What the operator has configured for this case, if anything. */
  configuration: { deployments?: Record<string, string> } | null;
  /** One record for each response of a model; none for calls that are not billed by usage. */
  records: ExpectedRecord[];
}

export interface DocumentSource {
  document: string;
  /** Null if the document was not read again for this case. */
  read_on: string | null;
}

export interface ExpectedRecord {
  provider: string;
  model: string;
  requested_model: string | null;
  streaming: boolean;
  response_id: string | null;
  http_status: number | null;
  tokens: ExpectedTokens;
  /** False if usage is missing or contradicts itself, or if the response was cut before its last usage. */
  tokens_complete: boolean;
  /** Counts other than the five that change the price. */
  extras: Record<string, number>;
  service_tier: string | null;
  provider_cost_pico_usd: string | null;
  cost: ExpectedCost;
  /** Null for a call that did not fail. */
  error: { class: string; retryable: boolean | null; code: string | null } | null;
}

/** The five disjoint counts, and the part of `cache_write` with the longer time to live. Null: not stated. */
export interface ExpectedTokens {
  prompt: number | null;
  cache_read: number | null;
  cache_write: number | null;
  cache_write_1h: number | null;
  completion: number | null;
  thinking: number | null;
}

export interface ExpectedCost {
  source: "computed" | "provider" | "unpriced";
  /** In 10^-12 USD, as a decimal string. */
  pico_usd: string | null;
  /** The lines of a computed cost: quantity times the rate in USD per million. */
  lines: ExpectedCostLine[];
}

export interface ExpectedCostLine {
  what: string;
  quantity: number;
  usd_per_million: string;
}
