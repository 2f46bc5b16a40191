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
  | { readonly event: "cloud.migrated"; readonly migration: string }
  | { readonly event: "cloud.rates_seeded"; readonly rates: number; readonly provenance_date: string };

/** Writes one event. Never throws and never waits; a line that can't be written is lost. */
export type CloudLog = (event: CloudLogEvent) => void;
