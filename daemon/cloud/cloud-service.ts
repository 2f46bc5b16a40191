import type { CalendarDate } from "../../core/values/time.ts";
import type { ConnectStatus } from "../../core/wire/loopback.ts";
import type { LedgerCheckResult } from "./ledger-watch.ts";
import type {
  CloudSnapshot,
  ConnectOptions,
  ConnectResult,
  DisconnectResult,
  PauseResult,
  RatesRequest,
  ReconcileResult,
  RefreshRatesResult,
  ResumeReport,
  SyncNowResult,
  WhoamiResult,
} from "./results.ts";

/**
 * The daemon's cloud service. The daemon starts it and keeps it running. Without a daemon, a command calls the same
 * methods on its own store, and each method finishes its work before it resolves. Expected failures are results. A
 * rejection means that the configuration, the credentials or the store can't be read.
 */
export interface CloudService {
  /** Starts the supervised workers and the pull of rates, if the configuration enables them. For the daemon. */
  start(): Promise<void>;
  /** Stops the workers. Requests in flight are abandoned and sent again later. Safe to call twice, and without `start`. */
  stop(): Promise<void>;
  /** Reads the configuration and the credentials again. Call it after either has changed. */
  reload(): Promise<void>;

  state(): Promise<CloudSnapshot>;
  /** Starts pairing. Resolves with the code, or with the existing connection if it is still valid. Cancels a pairing in progress. */
  connect(options?: ConnectOptions): Promise<ConnectResult>;
  connectStatus(): ConnectStatus;
  /** Resolves with the final status of the pairing in progress. */
  connectSettled(): Promise<ConnectStatus>;
  /** Cancels the pairing in progress, if there is one. */
  cancelConnect(): Promise<void>;
  pause(): Promise<PauseResult>;
  resume(): Promise<ResumeReport>;
  /** Sends everything that is pending, until all is sent or sending fails. */
  syncNow(): Promise<SyncNowResult>;
  whoami(): Promise<WhoamiResult>;
  disconnect(): Promise<DisconnectResult>;
  /** Compares the days from `fromDate` to `toDate`, both included, UTC. */
  reconcile(fromDate: CalendarDate, toDate: CalendarDate): Promise<ReconcileResult>;
  /** Compares the heads of the cloud's ledgers with the saved ones; `accept` replaces those first. */
  checkLedger(options?: { readonly accept?: boolean }): Promise<LedgerCheckResult>;
  /** Pulls rates from the configured source, or from the requested one. */
  refreshRates(request?: RatesRequest): Promise<RefreshRatesResult>;
  /** Calls the listener each time the cloud has stated the budgets of the workspace. For the daemon. */
  onFleetBudgets(listener: () => void): void;
}
