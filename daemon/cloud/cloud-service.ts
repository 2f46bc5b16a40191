import type { CalendarDate } from "../../core/time.ts";
import type { ConnectStatus } from "../../core/wire/mod.ts";
import type {
  CloudSnapshot,
  ConnectOptions,
  ConnectResult,
  DisconnectResult,
  PauseResult,
  ReconcileResult,
  RefreshRatesResult,
  ResumeReport,
  SyncNowResult,
  WhoamiResult,
} from "./results.ts";

/**
 * The daemon's side of the cloud. The daemon starts it and leaves it running; a command uses the same methods on a
 * store of its own where no daemon runs, and then each method does its work before it resolves. What is expected to go
 * wrong is a value of the result; a rejection means that the configuration, the credentials or the store can't be read.
 */
export interface CloudService {
  /** Starts the supervised workers and the pull of rates, as the configuration says. For the daemon. */
  start(): Promise<void>;
  /** Ends the workers; what is in flight is given up and sent again later. Safe to call twice, and without `start`. */
  stop(): Promise<void>;
  /** Acts on what the configuration and the credentials say now. To be called after either was changed. */
  reload(): Promise<void>;

  state(): Promise<CloudSnapshot>;
  /** Resolves with the code as soon as there is one, or with the connection that still holds. Cancels a handshake under way. */
  connect(options?: ConnectOptions): Promise<ConnectResult>;
  connectStatus(): ConnectStatus;
  /** Resolves when the handshake under way has settled, with how. */
  connectSettled(): Promise<ConnectStatus>;
  /** Gives up the handshake under way; nothing where there is none. */
  cancelConnect(): Promise<void>;
  pause(): Promise<PauseResult>;
  resume(): Promise<ResumeReport>;
  /** Sends everything that is pending, until it is sent or something keeps it back. */
  syncNow(): Promise<SyncNowResult>;
  whoami(): Promise<WhoamiResult>;
  disconnect(): Promise<DisconnectResult>;
  /** Compares the days from `fromDate` to `toDate`, both included, UTC. */
  reconcile(fromDate: CalendarDate, toDate: CalendarDate): Promise<ReconcileResult>;
  refreshRates(): Promise<RefreshRatesResult>;
}
