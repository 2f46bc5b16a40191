import type { ResumeReport, SyncReport } from "../../core/delivery/sync/sync-events.ts";
import type { SupervisorStatus } from "../../core/operations/supervisor/supervisor-machine.ts";
import type { RateProblem } from "../../core/pricing/published-rates.ts";
import type { Reconciliation } from "../../core/pricing/reconcile/reconcile.ts";
import type { PriceFormat } from "../../core/pricing/sources/price-sources.ts";
import type { CalendarDate, Millis } from "../../core/values/time.ts";
import type { Whoami } from "../../core/wire/daemon.ts";
import type { LedgerWitness } from "./ledger-watch.ts";
import type { PriceListResult } from "./pull-price-list.ts";

/** Options of `connect()`. */
export interface ConnectOptions {
  /** Pairs again even if the stored credentials are valid. */
  readonly force?: boolean;
  /** Replaces the configured base URL. Saved in the configuration once the machine is paired. */
  readonly baseUrl?: string;
  /** Keeps records from before the connection on this machine. */
  readonly fromNow?: boolean;
  /**
   * Whether a web page made the request, not the owner. A new connection (without stored credentials) then starts from now,
   * and an existing one does not change the configuration.
   */
  readonly byPage?: boolean;
}

/** The result of `connect()`. */
export type ConnectResult =
  /** The user must approve the code at the URL. `connectStatus()` returns whether that has happened. */
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

/** The result of `whoami()`. */
export type WhoamiResult =
  | { readonly kind: "valid"; readonly whoami: Whoami }
  | { readonly kind: "not_connected" }
  /** 401. */
  | { readonly kind: "key_invalid" }
  /** 403: the machine is blocked, or the workspace gone. */
  | { readonly kind: "forbidden"; readonly code: string | null }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** The result of `disconnect()`. The credentials on this machine were deleted, except with `not_connected`. */
export type DisconnectResult =
  | { readonly kind: "not_connected" }
  | {
      readonly kind: "disconnected";
      /** False if the key could not be revoked and still exists in the cloud. `error` has the reason. */
      readonly revoked: boolean;
      readonly error: string | null;
    };

/** The result of `syncNow()`. `synced` means that metadata and bodies are neither paused nor failed. */
export interface SyncNowResult {
  /** `not_connected`: nothing was attempted. */
  readonly kind: "synced" | "not_synced" | "not_connected";
  readonly report: SyncReport;
  /** Null if body sync is off. */
  readonly bodies: {
    readonly uploaded: number;
    readonly quarantined: number;
    readonly pending: number;
    /** The part of `pending` that the workspace rejected because it does not store bodies. */
    readonly policyRejected: number;
    /** Bodies that the configuration does not allow to upload. */
    readonly heldBack: number;
    readonly pausedReason: string | null;
    /** The problem code of the response that paused the uploader. */
    readonly pausedCode: string | null;
    /** Why this attempt failed, or null. */
    readonly lastError: string | null;
  } | null;
}

/** The result of `reconcile()`. */
export type ReconcileResult =
  | {
      readonly kind: "compared";
      readonly fromDate: CalendarDate;
      readonly toDate: CalendarDate;
      readonly reconciliation: Reconciliation;
    }
  | { readonly kind: "not_connected" }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** Which rates to pull. */
export interface RatesRequest {
  /** The name of a public price list, or `cloud`; null for the configured source. */
  readonly source?: string | null;
  /** A price list instead of a source: one that was already read, or the URL of one. */
  readonly list?: {
    readonly name: string;
    readonly format: PriceFormat;
    readonly from: { readonly text: string } | { readonly url: string };
  };
  /** Compare only, and store nothing. */
  readonly dryRun?: boolean;
}

/** The result of `refreshRates()`. */
export type RefreshRatesResult =
  | {
      readonly kind: "updated";
      readonly rates: number;
      readonly publishedAt: string;
      readonly from: "cloud" | "pull_url";
    }
  | { readonly kind: "not_modified"; readonly from: string }
  /** A public price list was read. */
  | PriceListResult
  /** No source has this name. */
  | { readonly kind: "unknown_source" }
  /** There is neither a `pull_url` nor a connection. */
  | { readonly kind: "not_configured" }
  /** The URL is not https. */
  | { readonly kind: "not_https" }
  /** The guard rejected the rates. None was changed. */
  | { readonly kind: "invalid"; readonly problems: readonly RateProblem[] }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** The state that `cloud status` shows and the banner depends on. It is read from the store, so no daemon is needed. */
export interface CloudSnapshot {
  /** `[cloud] enabled`. */
  readonly enabled: boolean;
  readonly baseUrl: string | null;
  readonly paired: boolean;
  /** The origin of the stored token, if it is not the configured one. Such a token is not used. */
  readonly otherOrigin: string | null;
  readonly workspaceName: string | null;
  readonly machineId: string | null;
  readonly hostname: string;
  readonly lastConnectedAt: Millis | null;
  readonly sync: {
    readonly pausedReason: string | null;
    /** The problem code of the response that paused sync, such as `workspace_deleted`. */
    readonly pausedCode: string | null;
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
    readonly pausedCode: string | null;
    readonly consecutiveFailures: number;
    readonly lastError: string | null;
    readonly lastErrorAt: Millis | null;
    readonly lastTickAt: Millis | null;
    /** The largest `uploaded_at`. */
    readonly lastUploadAt: Millis | null;
    readonly pending: number;
    /** Bodies that the configuration does not allow to upload. */
    readonly heldBack: number;
    /** The part of `pending` that the workspace rejected in the last pass because it does not store bodies. */
    readonly recordsPolicyRejected: number;
    /** The watermark in force. Null means no filter. */
    readonly uploadFrom: Millis | null;
  };
  /** Null if the ledgers of the workspace were never compared, as with an older cloud. */
  readonly ledger: LedgerWitness | null;
  readonly quarantined: number;
  /** The states of the workers. Null if this process runs none. */
  readonly workers: { readonly sync: SupervisorStatus; readonly bodies: SupervisorStatus } | null;
}

/** The result of `pause()`. */
export type PauseResult =
  | { readonly kind: "paused" | "already_paused"; readonly pausedReason: string }
  | { readonly kind: "not_connected" };

export type { ResumeReport, SyncReport };
