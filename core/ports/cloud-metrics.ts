/**
 * The counters of the cloud. They hold only route patterns, methods and statuses, never text that a client sent, so that a
 * tenant's text cannot reach the readers of the metrics.
 */
export interface CloudMetrics {
  /** Counts a response; `durationMs` is the time until its head was ready. Never throws. */
  requestAnswered(answered: {
    readonly method: string;
    /** The route's pattern, such as `/v1/requests/:id/body`. */
    readonly route: string;
    readonly status: number;
    readonly durationMs: number;
  }): void;
  /** Counts the outcomes of one batch. Never throws. */
  recordsIngested(outcomes: {
    readonly accepted: number;
    readonly duplicates: number;
    readonly rejected: number;
  }): void;
}
