import type { Millis } from "../../values/time.ts";

/** The status of the handshake. A settled one says how it ended; `connected` means that the stored credentials are valid. */
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

/** The code that a person approves, and the secret that the daemon polls with. */
export interface PairingTicket {
  /** 8 Crockford base-32 characters, shown `XXXX-XXXX`. */
  readonly code: string;
  /** The poll secret. It is part of the state so that polling survives a crash. It appears in no log line or report. */
  readonly pollToken: string;
  readonly verificationUrl: string;
  readonly expiresAt: Millis;
  readonly intervalMs: number;
}

/** The state of a handshake. Plain JSON. */
export interface PairingState {
  readonly status: PairingStatus;
  /** Number of the handshake. Results of any other are stale. */
  readonly attempt: number;
  readonly ticket: PairingTicket | null;
  /** Consecutive polls without a usable response. */
  readonly failures: number;
  readonly workspaceName: string | null;
  /** The message of the report. Contains no secret. */
  readonly message: string | null;
}

/** The state before any connect request. */
export const initialPairingState: PairingState = {
  status: "idle",
  attempt: 0,
  ticket: null,
  failures: 0,
  workspaceName: null,
  message: null,
};
