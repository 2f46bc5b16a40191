import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../machine.ts";
import type { CloudAnswer, HttpAnswer, TransportAnswer } from "../retry/mod.ts";
import type { PairingStatus } from "./pairing-state.ts";

/** The answer to a pairing start; `ticket` is `null` unless the answer was a 201 that could be read. */
export type StartAnswer =
  | (HttpAnswer & {
      readonly ticket: {
        readonly code: string;
        readonly pollToken: string;
        readonly verificationUrl: string;
        readonly expiresInMs: number;
        readonly intervalMs: number;
      } | null;
    })
  | TransportAnswer;

/** What a poll that was answered 200 said. */
export type PollResult =
  | { readonly status: "pending" | "denied" | "expired" | "failed" }
  | {
      readonly status: "approved";
      readonly syncToken: string;
      readonly workspace: { readonly id: string; readonly name: string };
    };

/** The answer to a poll; `result` is `null` unless the answer was a 200 that could be read. */
export type PollAnswer = (HttpAnswer & { readonly result: PollResult | null }) | TransportAnswer;

/** What happened, as far as the handshake is concerned. `random` is in [0, 1) and spreads the backoff. */
export type PairingEvent =
  /** The daemon begins, for the first time or after a crash. */
  | { readonly kind: "started" }
  /** `meter cloud connect`, or the dashboard through the loopback API. */
  | { readonly kind: "connect_requested"; readonly hasCredentials: boolean; readonly force: boolean }
  | {
      readonly kind: "whoami_answered";
      readonly attempt: number;
      readonly answer: CloudAnswer;
      /** The workspace that a 200 names. */
      readonly workspaceName: string | null;
    }
  | { readonly kind: "start_answered"; readonly attempt: number; readonly answer: StartAnswer }
  | { readonly kind: "poll_due" }
  | {
      readonly kind: "poll_answered";
      readonly attempt: number;
      readonly answer: PollAnswer;
      readonly random: number;
    }
  /** The token is stored, and sync enabled. */
  | { readonly kind: "credentials_stored"; readonly attempt: number }
  /** `meter cloud disconnect`, or the person gave up. */
  | { readonly kind: "cancel_requested" };

/** How a handshake ended. */
export interface PairingReport {
  readonly status: Extract<PairingStatus, "approved" | "connected" | "denied" | "expired" | "failed">;
  readonly workspaceName: string | null;
  readonly message: string;
}

/** What the handshake wants done. Each effect is safe to run twice, except that a token is handed out once. */
export type PairingEffect =
  /** Ends what is under way for that attempt; nothing where nothing is. */
  | { readonly kind: "cancel_handshake"; readonly attempt: number }
  /** Answered by `whoami_answered`. */
  | { readonly kind: "ask_whoami"; readonly attempt: number }
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
    }
  | { readonly kind: "report_pairing"; readonly report: PairingReport }
  | SetTimerEffect<"poll">
  | ClearTimerEffect<"poll">
  | LogEffect;
