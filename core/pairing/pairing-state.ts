import type { Millis } from "../time.ts";

/** Where a handshake stands. The settled ones say how the last one ended; `connected` found credentials that still hold. */
export type PairingStatus =
  | "idle"
  | "checking"
  | "starting"
  | "polling"
  | "storing"
  | "approved"
  | "connected"
  | "denied"
  | "expired"
  | "failed";

/** What the person approves, and what the daemon polls with. */
export interface PairingTicket {
  /** 8 Crockford base-32 characters, shown `XXXX-XXXX`. */
  readonly code: string;
  /** The poll secret: it stands in the state so that polling survives a crash, and in no log line or report. */
  readonly pollToken: string;
  readonly verificationUrl: string;
  readonly expiresAt: Millis;
  readonly intervalMs: number;
}

/** One handshake. Plain JSON. */
export interface PairingState {
  readonly status: PairingStatus;
  /** Number of the handshake: an answer to any other is stale. */
  readonly attempt: number;
  readonly ticket: PairingTicket | null;
  /** Polls in a row without a usable answer. */
  readonly failures: number;
  readonly workspaceName: string | null;
  /** What a report says besides the status. Holds no secret. */
  readonly message: string | null;
}

/** A daemon that has not been asked to connect. */
export const initialPairingState: PairingState = {
  status: "idle",
  attempt: 0,
  ticket: null,
  failures: 0,
  workspaceName: null,
  message: null,
};
