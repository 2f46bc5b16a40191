/**
 * What the cloud counts of itself while it works. Route patterns, methods and statuses only: no name here ever holds what
 * a client sent, so that a tenant's text can't reach whoever reads the metrics.
 */
export interface CloudMetrics {
  /** Counts one answer; `durationMs` until its head was ready. Never throws. */
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
