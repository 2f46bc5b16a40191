import type { Millis } from "../../../core/values/time.ts";
import type { BodyDirection } from "./values.ts";

/** A captured body: decoded, redacted, and truncated to the size limit. */
export interface CapturedBody {
  requestId: string;
  direction: BodyDirection;
  capturedAt: Millis;
  contentType: string | null;
  /** UTF-8. */
  content: Uint8Array;
  /** The decoded size before redaction and truncation, in bytes. */
  originalSizeBytes: number;
  truncated: boolean;
  redactionApplied: boolean;
  /** The names of the redaction rules that matched. */
  redactionSummary: readonly string[];
}

/** A stored body. */
export interface StoredBody extends CapturedBody {
  uploadedAt: Millis | null;
}

/** Totals of the stored bodies. */
export interface BodyStats {
  bodies: number;
  requests: number;
  sizeBytes: number;
  truncated: number;
  redacted: number;
  /** Bodies that are not uploaded. */
  pending: number;
  oldestAt: Millis | null;
  newestAt: Millis | null;
}

/** Captured bodies. A request has at most one per direction. */
export interface BodyStore {
  /** Inserts bodies in one transaction. Idempotent: a stored body is replaced and becomes pending again. */
  insert(bodies: readonly CapturedBody[]): void;
  /** Reads the bodies of a request, `request` before `response`. Empty if none is stored. */
  read(requestId: string): StoredBody[];
  /** Reads one body. Not found: null. */
  get(requestId: string, direction: BodyDirection): StoredBody | null;
  stats(): BodyStats;
  /** Counts the bodies captured before the instant. */
  countBefore(before: Millis): number;
  /**
   * Deletes a batch of the bodies captured before the instant, the oldest first, and returns its size. Call it until it
   * returns 0; then no copy is left in the database's files.
   */
  deleteSome(before: Millis): number;
}
