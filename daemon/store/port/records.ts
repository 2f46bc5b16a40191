import type { RequestQuery } from "../../../core/pricing/view/request-query.ts";
import type { BillingMode, CostSource, RateSource, RequestRecord } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { Period, Turn } from "./values.ts";

/** A stored record and the state of the row. */
export interface StoredRequest extends RequestRecord {
  /** The order of arrival. */
  seq: number;
  syncedAt: Millis | null;
  /** When the sync skipped the request: its project is local-only, or it is older than the first connection. */
  syncSkippedAt: Millis | null;
  recomputedAt: Millis | null;
  reassignedAt: Millis | null;
  reassignedFrom: string | null;
}

/** The result of a search by ID. */
export type FoundRequest =
  | { kind: "found"; request: StoredRequest }
  /** Several IDs begin with the text; the first ten of them. */
  | { kind: "ambiguous"; requestIds: readonly string[] }
  | { kind: "not_found" };

/** A new cost of a stored request. */
export interface CostUpdate {
  requestId: string;
  costPicoUsd: bigint | null;
  costSource: CostSource;
  ratesSource: RateSource | null;
}

/** A range of stored requests, in order of arrival. */
export interface RequestRange extends Period {
  /** The `seq` of the last request of the previous range; 0 to begin. */
  afterSeq: number;
  limit: number;
}

/** A provider's response that was stored before. */
export interface StoredResponse {
  requestId: string;
  tokensComplete: boolean;
}

/**
 * A filter by result: without an error, with one, refused by a budget, without a known price, without complete usage, or with this HTTP status.
 */
export type RequestStatus = "ok" | "failed" | "blocked" | "unpriced" | "incomplete" | number;

/** The last request of a page that is not sorted by time: the value that it is sorted by, and its `seq`. */
export interface SortedPosition {
  /** A cost in pico-USD, a number of tokens or milliseconds; -1 if it is unknown. */
  key: bigint;
  seq: number;
}

/**
 * A page of a request list and its filters. A filter that is absent matches every request. Without `sort`, the latest to arrive are
 * first; unknown values are last.
 */
export interface RequestListQuery extends Period, Partial<RequestQuery> {
  project?: string;
  model?: string;
  provider?: string;
  client?: string;
  /** How the request is billed, also one of an older daemon: see `effectiveBilling()`. */
  billing?: BillingMode;
  status?: RequestStatus;
  /** Only requests with a smaller `seq`. Null for the first page. */
  beforeSeq: number | null;
  /** Only requests after this one, in a list that is not sorted by time. */
  after?: SortedPosition | null;
  limit: number;
}

/** One page of a request list. */
export interface RequestPage {
  requests: StoredRequest[];
  /** The `beforeSeq` of the next page, or null if this is the last or the list is not sorted by time. */
  nextBeforeSeq: number | null;
  /** The `after` of the next page of a list that is not sorted by time; otherwise null. */
  nextAfter: SortedPosition | null;
}

/** The metered requests. Only the user deletes them (`DeletionStore`). */
export interface RecordStore {
  /**
   * Inserts records in one transaction. Idempotent by request ID: a stored record stays as it is, except that one with
   * incomplete usage takes the usage and cost of a complete one, and becomes pending again. On a `StoreError` nothing is
   * stored; `busy` and `disk_full` may pass, `invalid_value` and `constraint` do not.
   */
  insert(records: readonly RequestRecord[]): void;
  /** Finds a request by its ID, a unique prefix of it, or the provider's response ID. Not found: `not_found`. */
  find(text: string): Promise<FoundRequest>;
  /** Reads the request with exactly this ID, in any case. Not found: null. */
  get(requestId: string): Promise<StoredRequest | null>;
  /** Returns the ID of the request with the latest start. Not found: null. */
  latestId(): string | null;
  /** The `seq` of the last request; 0 if there is none. */
  lastSeq(): number;
  /**
   * Returns when each client, by its program's name, was metered last since the instant; the latest first. Without records from
   * logs.
   */
  lastCaptures(since: Millis): { client: string | null; at: Millis }[];
  /** Finds the request of a response that its provider may return again. Not found: null. */
  findStoredResponse(providerResponseId: string): StoredResponse | null;
  /** Reads the next requests in order of arrival. Empty at the end. */
  read(range: RequestRange): StoredRequest[];
  /**
   * Lists requests, the latest to arrive first, in slices with `turn` in between. Rejects with the signal's reason if it is
   * aborted. Another order reads all requests of the period that the rollups can't rule out.
   */
  list(query: RequestListQuery, turn: Turn, signal?: AbortSignal): Promise<RequestPage>;
  /**
   * Returns a prefix of each ID, all of one length, that no other request has, so that `find()` takes it. At least
   * `minLength` characters. An ID that is not stored gets such a prefix too.
   */
  shortenIds(requestIds: readonly string[], minLength: number): string[];
  count(period: Period): number;
  /** Writes costs and `recomputed_at` in one transaction. Idempotent. Skips unknown IDs and returns the number found. */
  updateCosts(updates: readonly CostUpdate[], at: Millis): number;
}
