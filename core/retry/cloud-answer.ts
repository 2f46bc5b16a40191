/** Why there is no usable HTTP answer. `invalid_answer`: there was one, but not of the form that the contract promises. */
export type TransportReason =
  | "timeout"
  | "connection_refused"
  | "connection_reset"
  | "dns_failure"
  | "tls_failure"
  | "aborted"
  | "invalid_answer"
  | "other";

/** An HTTP answer of the cloud, reduced at the edge. */
export interface HttpAnswer {
  readonly kind: "http";
  readonly status: number;
  /** From `parseRetryAfter`; `null` without a usable header. */
  readonly retryAfterMs: number | null;
}

/** No HTTP answer came. */
export interface TransportAnswer {
  readonly kind: "transport";
  readonly reason: TransportReason;
}

/** What came of a request to the cloud. */
export type CloudAnswer = HttpAnswer | TransportAnswer;

/** The words for `last_error` and for messages: the real status, nothing of the body. */
export function describeAnswer(answer: CloudAnswer): string {
  return answer.kind === "http" ? `HTTP ${answer.status}` : `no answer: ${answer.reason}`;
}

/** The answer's `Retry-After`, or `null`. */
export function retryAfterOf(answer: CloudAnswer): number | null {
  return answer.kind === "http" ? answer.retryAfterMs : null;
}
