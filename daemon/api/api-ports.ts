import type { Hono } from "hono";
import type { Budget } from "../../core/budgets/budget.ts";
import type { IsKnownHost } from "../../core/metering/coverage/unlisted-hosts.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { ConnectionOwnerLookup } from "../../core/ports/connection-owner.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { SettingsAnswer } from "../../pages/views/settings.ts";
import type { BudgetTracker, LetThroughTotals } from "../budgets/budget-tracker.ts";
import type { Capture } from "../capture/capture.ts";
import type { ProjectOrigins } from "../capture/project-origins.ts";
import type { LimitTracker } from "../limits/limit-tracker.ts";
import type { SentLog } from "../page/read-privacy.ts";
import type { Store } from "../store/port/store.ts";
import type { Turn } from "../store/port/values.ts";
import type { CloudBanner, DaemonHealth, DaemonState, DaemonStatus } from "./daemon-status.ts";
import type { MeteredCounters } from "./metrics.ts";
import type { RecordFeed } from "./record-feed.ts";
import type { TelemetryPorts } from "./telemetry-routes.ts";

/** What the loopback API needs of the daemon. */
export interface ApiPorts {
  version: string;
  /** The `Host` values that the API answers to, in lower case, port included. */
  allowedHosts: ReadonlySet<string>;
  /** Origins of dashboards, as browsers write them. */
  allowedOrigins: ReadonlySet<string>;
  /** The secret in `<meter_home>/loopback-token`. */
  token: string;
  /** Compares two secrets in constant time. */
  equalSecrets(one: string, other: string): boolean;
  /** Returns the SHA-256 of a text's UTF-8, lower-case hex. */
  sha256Hex(text: string): string;
  /** Finds the owner of a connection. Null where the platform can't tell. */
  owners: ConnectionOwnerLookup | null;
  /** The file of the certificate that programs should trust, for the local page. */
  authorityFile?: string;
  /** Whether the daemon meters a host. Without it, the page lists each host that was not metered as unknown. */
  isKnownHost?: IsKnownHost;
  /** The port that the API listens on. */
  port(): number;
  health(): DaemonHealth;
  state(): DaemonState;
  lastDay(): DaemonStatus["last_24_hours"];
  store: Pick<
    Store,
    "records" | "reports" | "coverage" | "settings" | "notes" | "limits" | "sessions" | "origins"
  >;
  /** What was sent. Without it, the page of privacy shows that nothing was. */
  sent?: SentLog;
  /** Reads the settings. Without it, the page of settings shows that they are not known. */
  settings?(): Promise<SettingsAnswer>;
  /** Follows limits. Without it, only stored readings are shown. */
  limits?: Pick<LimitTracker, "flush">;
  /** The budgets, and which of them are in `config.toml`. Without them, none are shown. */
  budgets?: {
    readonly tracker: Pick<BudgetTracker, "refresh" | "state" | "cutCalls">;
    readonly configured: readonly Budget[];
    /** The calls since the start that were sent although a budget could not decide on them. */
    letThrough(): LetThroughTotals;
    /** Resolves with whether the proxy has confirmed that it holds calls as the budgets need. */
    confirmed(): Promise<boolean>;
  };
  /** Returns the calls whose responses have not ended. Without it, none are shown. */
  callsInFlight?: Capture["callsInFlight"];
  feed: RecordFeed;
  counters: MeteredCounters;
  prices(): PriceBook;
  /** The routes below `/v1/cloud` and the banner. Null without a cloud service. */
  cloud: { routes: Hono; banner(): Promise<CloudBanner> } | null;
  /** The projects of folders. Without them, there are no routes below `/v1/projects`. */
  origins?: ProjectOrigins;
  /** Receives the OpenTelemetry of clients. Without it, there are no routes below `/otlp`. */
  telemetry?: TelemetryPorts;
  clock: Clock;
  turn: Turn;
  /** For the log. */
  onError(error: unknown): void;
}
