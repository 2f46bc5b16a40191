import type { RateProblem } from "../../core/pricing/mod.ts";
import type { Reconciliation } from "../../core/reconcile/mod.ts";
import type { SupervisorStatus } from "../../core/supervisor/mod.ts";
import type { ResumeReport, SyncReport } from "../../core/sync/mod.ts";
import type { CalendarDate, Millis } from "../../core/time.ts";
import type { Whoami } from "../../core/wire/mod.ts";

/** What a person asked for when connecting. */
export interface ConnectOptions {
  /** Pairs anew although the stored credentials still hold. */
  readonly force?: boolean;
  /** Instead of the configured one; kept in the configuration once the machine is paired. */
  readonly baseUrl?: string;
  /** What was recorded before and not sent stays on this machine. */
  readonly fromNow?: boolean;
  /**
   * A web page asks, not the owner. A new connection (where no credentials are stored, as before the first one or after a
   * disconnect) then starts from now, and one that holds changes nothing in the configuration.
   */
  readonly byPage?: boolean;
}

/** What `connect()` gives as soon as it is known. */
export type ConnectResult =
  /** Approve the code at the address; `connectStatus()` says when that has happened. */
  | {
      readonly kind: "code";
      readonly code: string;
      readonly verificationUrl: string;
      readonly expiresAt: Millis;
    }
  /** The stored credentials still authenticate. */
  | { readonly kind: "connected"; readonly workspaceName: string | null; readonly message: string }
  /** No cloud is configured. */
  | { readonly kind: "no_base_url" }
  | { readonly kind: "failed"; readonly message: string };

/** What `whoami()` found out. */
export type WhoamiResult =
  | { readonly kind: "valid"; readonly whoami: Whoami }
  | { readonly kind: "not_connected" }
  /** 401. */
  | { readonly kind: "key_invalid" }
  /** 403: the machine is blocked, or the workspace gone. */
  | { readonly kind: "forbidden"; readonly code: string | null }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** What `disconnect()` did. The credentials are gone from this machine in every case but `not_connected`. */
export type DisconnectResult =
  | { readonly kind: "not_connected" }
  | {
      readonly kind: "disconnected";
      /** False where the cloud could not be told: the key still exists there, and `error` says why. */
      readonly revoked: boolean;
      readonly error: string | null;
    };

/** What `syncNow()` did, metadata first and then bodies. */
export interface SyncNowResult {
  /** `not_connected`: nothing was tried. */
  readonly kind: "synced" | "not_synced" | "not_connected";
  readonly report: SyncReport;
  /** Null where body sync is off. */
  readonly bodies: {
    readonly uploaded: number;
    /** Refused by the workspace's policy: they stay pending. */
    readonly policyRejected: number;
    readonly quarantined: number;
    readonly pending: number;
    readonly lastError: string | null;
  } | null;
}

/** What `reconcile()` found. */
export type ReconcileResult =
  | {
      readonly kind: "compared";
      readonly fromDate: CalendarDate;
      readonly toDate: CalendarDate;
      readonly reconciliation: Reconciliation;
    }
  | { readonly kind: "not_connected" }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** What `refreshRates()` did. */
export type RefreshRatesResult =
  | {
      readonly kind: "updated";
      readonly rates: number;
      readonly publishedAt: string;
      readonly from: "cloud" | "pull_url";
    }
  | { readonly kind: "not_modified"; readonly from: "cloud" | "pull_url" }
  /** Neither a `pull_url` nor a connection. */
  | { readonly kind: "not_configured" }
  /** The cloud's address is not https: a rate is never asked for in clear text. */
  | { readonly kind: "not_https" }
  /** The guard rejected all of it; nothing changed. */
  | { readonly kind: "invalid"; readonly problems: readonly RateProblem[] }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** All that `cloud status` shows and the banner is decided from; read from the store, so that no daemon is needed. */
export interface CloudSnapshot {
  /** `[cloud] enabled`. */
  readonly enabled: boolean;
  readonly baseUrl: string | null;
  readonly paired: boolean;
  /** The stored token is another origin's than the configured one: it is not used. */
  readonly otherOrigin: string | null;
  readonly workspaceName: string | null;
  readonly machineId: string | null;
  readonly hostname: string;
  readonly lastConnectedAt: Millis | null;
  readonly sync: {
    readonly pausedReason: string | null;
    readonly consecutiveFailures: number;
    readonly lastError: string | null;
    readonly lastErrorAt: Millis | null;
    readonly lastTickAt: Millis | null;
    readonly nextTickAt: Millis | null;
    readonly pending: number;
    readonly oldestPendingAt: Millis | null;
  };
  readonly bodies: {
    readonly enabled: boolean;
    readonly pausedReason: string | null;
    readonly consecutiveFailures: number;
    readonly lastError: string | null;
    readonly lastErrorAt: Millis | null;
    readonly lastTickAt: Millis | null;
    /** The largest `uploaded_at`. */
    readonly lastUploadAt: Millis | null;
    readonly pending: number;
    readonly recordsPolicyRejected: number;
    /** The watermark in force; null for no filter. */
    readonly uploadFrom: Millis | null;
  };
  readonly quarantined: number;
  /** How the workers are; null where none of this process runs. */
  readonly workers: { readonly sync: SupervisorStatus; readonly bodies: SupervisorStatus } | null;
}

/** What `pause()` did. */
export interface PauseResult {
  readonly kind: "paused" | "already_paused";
  readonly pausedReason: string;
}

export type { ResumeReport, SyncReport };
