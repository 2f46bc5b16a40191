import type { HttpResponse, TransportFailure } from "../../ports/cloud-client.ts";
import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../../values/machine.ts";
import type { CloudResult } from "../retry/cloud-result.ts";
import type { PairingStatus } from "./pairing-state.ts";

/** The result of starting a pairing. `ticket` is `null` unless the response was a valid 201. */
export type StartResult =
  | (HttpResponse & {
      readonly ticket: {
        readonly code: string;
        readonly pollToken: string;
        readonly verificationUrl: string;
        readonly expiresInMs: number;
        readonly intervalMs: number;
      } | null;
    })
  | TransportFailure;

/** The content of a poll's 200. */
export type PollOutcome =
  | { readonly status: "pending" | "denied" | "expired" | "failed" }
  | {
      readonly status: "approved";
      readonly syncToken: string;
      readonly workspace: { readonly id: string; readonly name: string };
      /** A secret, like the token; null if the cloud issues none. */
      readonly promptHashKey: string | null;
    };

/** The result of a poll. `outcome` is `null` unless the response was a valid 200. */
export type PollResult = (HttpResponse & { readonly outcome: PollOutcome | null }) | TransportFailure;

/** An event of the handshake. `random` is in [0, 1) and spreads the backoff. */
export type PairingEvent =
  /** The daemon starts, for the first time or after a crash. */
  | { readonly kind: "started" }
  /** `meter cloud connect`, or the dashboard through the loopback API. */
  | { readonly kind: "connect_requested"; readonly hasCredentials: boolean; readonly force: boolean }
  | {
      readonly kind: "whoami_answered";
      readonly attempt: number;
      readonly result: CloudResult;
      /** The workspace named by a 200. */
      readonly workspaceName: string | null;
    }
  | { readonly kind: "start_answered"; readonly attempt: number; readonly result: StartResult }
  | { readonly kind: "poll_due" }
  | {
      readonly kind: "poll_answered";
      readonly attempt: number;
      readonly result: PollResult;
      readonly random: number;
    }
  /** The token is stored and sync is enabled. */
  | { readonly kind: "credentials_stored"; readonly attempt: number }
  /** `meter cloud disconnect`, or the person cancelled. */
  | { readonly kind: "cancel_requested" };

/** How a handshake ended. */
export interface PairingReport {
  readonly status: Extract<PairingStatus, "approved" | "connected" | "denied" | "expired" | "failed">;
  readonly workspaceName: string | null;
  readonly message: string;
}

/** An effect of the handshake. Each is safe to run twice, except that the cloud issues a token only once. */
export type PairingEffect =
  /** Ends what is in progress for that attempt, if anything. */
  | { readonly kind: "cancel_handshake"; readonly attempt: number }
  /** Answered by `whoami_answered`. */
  | { readonly kind: "request_whoami"; readonly attempt: number }
  /** `POST /v1/pairing/start`; answered by `start_answered`. */
  | { readonly kind: "start_pairing"; readonly attempt: number }
  | { readonly kind: "show_code"; readonly code: string; readonly verificationUrl: string }
  /** `POST /v1/pairing/poll`; answered by `poll_answered`. */
  | { readonly kind: "poll_pairing"; readonly attempt: number; readonly pollToken: string }
  /** Stores the token with the origin that minted it; answered by `credentials_stored`. */
  | {
      readonly kind: "store_credentials";
      readonly attempt: number;
      readonly syncToken: string;
      readonly workspaceId: string;
      readonly workspaceName: string;
      readonly promptHashKey: string | null;
    }
  | { readonly kind: "report_pairing"; readonly report: PairingReport }
  | SetTimerEffect<"poll">
  | ClearTimerEffect<"poll">
  | LogEffect;
