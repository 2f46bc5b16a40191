import type { LogLevel } from "./log.ts";

/**
 * An event in the cloud's log. Fields contain only the cloud's own texts and codes, never a payload, a key or text from a
 * client, so that a rejected body cannot get into the log.
 */
export type CloudLogEvent =
  /** A response with status 5xx. `reason` is the reason of a `DatabaseError`, or the error's name. */
  | {
      readonly event: "cloud.request_failed";
      readonly request_id: string;
      readonly method: string;
      readonly route: string;
      readonly reason: string;
      /** The SQLSTATE, if the database sent one. */
      readonly code: string | null;
    }
  /** Every response. `duration_ms` is the time until its head was ready. */
  | {
      readonly event: "cloud.request_answered";
      readonly request_id: string;
      readonly method: string;
      readonly route: string;
      readonly status: number;
      readonly duration_ms: number;
    }
  | {
      readonly event: "cloud.started";
      readonly version: string;
      readonly engine: "pglite" | "postgres";
      readonly port: number;
      readonly tls: boolean;
    }
  /** An email that was not accepted for delivery after the response had been sent. `reason` is the error's name. */
  | { readonly event: "cloud.mail_failed"; readonly reason: string }
  /** A signal was received. Running requests may finish. */
  | { readonly event: "cloud.draining"; readonly signal: string }
  | { readonly event: "cloud.stopped"; readonly drained_ms: number }
  /** A run of the purge that erased data. `left` counts what is due but left for the next runs. */
  | {
      readonly event: "cloud.purged";
      readonly workspaces: number;
      readonly organisations: number;
      readonly accounts: number;
      readonly left: number;
      readonly rows: number;
    }
  /**
   * A failed run of the purge. `reason` is the reason of a `DatabaseError`, or the error's name. The next run tries again.
   */
  | { readonly event: "cloud.purge_failed"; readonly reason: string; readonly code: string | null }
  /** A body that was not stored, because the key of its owner's bodies can't be read or created. Its machine sends it again. */
  | {
      readonly event: "cloud.body_key_unavailable";
      readonly request_id: string;
      readonly workspace_id: string;
      readonly user_id: string;
      readonly key_id: string;
      readonly reason: "missing" | "unreadable" | "not_created";
    }
  /** A run that encrypted bodies that were stored in clear: how many sides of bodies. */
  | { readonly event: "cloud.bodies_sealed"; readonly bodies: number }
  /** A failed check of a workspace's budgets. It is retried. `reason` is as in `cloud.purge_failed`. */
  | { readonly event: "cloud.budget_check_failed"; readonly reason: string; readonly code: string | null }
  /** A run that sent weekly emails. */
  | { readonly event: "cloud.summaries_sent"; readonly sent: number }
  /** A failed run of the weekly emails. The next run retries. `reason` is as in `cloud.purge_failed`. */
  | { readonly event: "cloud.summaries_failed"; readonly reason: string; readonly code: string | null }
  | { readonly event: "cloud.migrated"; readonly migration: string }
  | { readonly event: "cloud.rates_seeded"; readonly rates: number; readonly provenance_date: string };

/** The level of each event. Events that are not listed are `info`. */
export const CLOUD_LOG_LEVELS: Readonly<Partial<Record<CloudLogEvent["event"], LogLevel>>> = {
  "cloud.request_failed": "error",
  "cloud.mail_failed": "error",
  "cloud.purge_failed": "error",
  "cloud.body_key_unavailable": "error",
  "cloud.budget_check_failed": "error",
  "cloud.summaries_failed": "error",
  "cloud.request_answered": "debug",
};

/** Writes one event. Never throws and never waits. A line that cannot be written is dropped. */
export type CloudLog = (event: CloudLogEvent) => void;
