import type { LogLevel } from "./log.ts";

/**
 * What the cloud writes down of itself. Words of our own and codes only: no payload, no key, no text that a client sent,
 * so that a body refused by the gate can't be in a log either.
 */
export type CloudLogEvent =
  /** An answer of 5xx; `reason` is a `DatabaseError`'s or the error's name. */
  | {
      readonly event: "cloud.request_failed";
      readonly request_id: string;
      readonly method: string;
      readonly route: string;
      readonly reason: string;
      /** SQLSTATE, where the database said one. */
      readonly code: string | null;
    }
  /** Every answer; `duration_ms` until the head was ready. */
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
  /** A letter that was not handed over, and of which nobody could be told; `reason` is the error's name. */
  | { readonly event: "cloud.mail_failed"; readonly reason: string }
  /** A signal came: what is under way may finish. */
  | { readonly event: "cloud.draining"; readonly signal: string }
  | { readonly event: "cloud.stopped"; readonly drained_ms: number }
  | { readonly event: "cloud.migrated"; readonly migration: string }
  | { readonly event: "cloud.rates_seeded"; readonly rates: number; readonly provenance_date: string };

/** How much an event matters; those that are not listed are `info`. */
export const CLOUD_LOG_LEVELS: Readonly<Partial<Record<CloudLogEvent["event"], LogLevel>>> = {
  "cloud.request_failed": "error",
  "cloud.mail_failed": "error",
  "cloud.request_answered": "debug",
};

/** Writes one event. Never throws and never waits; a line that can't be written is lost. */
export type CloudLog = (event: CloudLogEvent) => void;
