import type { Budget, CallFacts } from "../core/budgets/budget.ts";
import type { Registry } from "../core/metering/usage/registry.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { ConnectionOwnerLookup } from "../core/ports/connection-owner.ts";
import type { CreateContentDecoder } from "../core/ports/content-decoder.ts";
import type { CreateDriver } from "../core/ports/driver.ts";
import type { Log } from "../core/ports/log.ts";
import type { CreateMessageInflater } from "../core/ports/message-inflater.ts";
import type { ProcessFacts } from "../core/ports/process-table.ts";
import type { TokenCounter } from "../core/ports/token-counter.ts";
import type { PriceBook } from "../core/pricing/price-book.ts";
import type { Redact } from "../core/privacy/redaction/redact.ts";
import type { Millis } from "../core/values/time.ts";
import type { SettingsAnswer } from "../pages/views/settings.ts";
import type { ApiPeer } from "./api/app.ts";
import type { DaemonHealth, DaemonStatus } from "./api/daemon-status.ts";
import type { BudgetNotice } from "./budgets/budget-notice.ts";
import type { ConnectionAttribution } from "./capture/ports.ts";
import type { ProjectOrigins } from "./capture/project-origins.ts";
import type { CloudService } from "./cloud/cloud-service.ts";
import type { OtlpService } from "./otlp/otlp-service.ts";
import type { SentLog } from "./page/read-privacy.ts";
import type { EarlyProxy } from "./proxy/early-proxy.ts";
import type { PassMemory } from "./proxy/passes.ts";
import type { ProxyConfig } from "./proxy/proxy-config.ts";
import type { ProxyThread } from "./proxy/proxy-thread.ts";
import type { ConnectLookup } from "./proxy/start-proxy.ts";
import type { Store } from "./store/port/store.ts";
import type { WebhookService } from "./webhooks/webhook-service.ts";

/** The ports of the daemon. */
export interface DaemonPorts {
  version: string;
  log: Log;
  /** Closed by the daemon when it stops. */
  store: Store;
  registry: Registry;
  prices(): PriceBook;
  /** `caller` is the process at the client end, if it is known already. */
  attribution(connection: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
    readonly caller?: ProcessFacts;
  }): ConnectionAttribution;
  /** The projects of folders, which `attribution` uses too. Without them, folders of the same name are one project. */
  origins?: ProjectOrigins;
  redact: Redact;
  createDecoder: CreateContentDecoder;
  createMessageInflater: CreateMessageInflater;
  /** Estimates counts that a provider did not report. Null: no estimates. Read for each call, so a setting applies at once. */
  tokenCounter(): TokenCounter | null;
  sha256Hex(text: string): string;
  /** Hashes what identifies an account of a provider, with a key of this installation. Without it, accounts are unknown. */
  hashAccount?(identity: string): string;
  randomBytes(count: number): Uint8Array;
  now(): Millis;
  clock: Clock;
  createDriver: CreateDriver;
  atTurnEnd(work: () => void): void;
  later(work: () => void, delayMs: number): void;
  equalSecrets(one: string, other: string): boolean;
  /** Finds the owner of a connection. Null where the platform can't tell. */
  owners: ConnectionOwnerLookup | null;
  /** Lets the proxy look up the owner of a client. Without it every client counts as this user's. */
  connectLookup?: ConnectLookup;
  /** A proxy that was started earlier with the same configuration. By default the daemon starts one. */
  earlyProxy?: EarlyProxy;
  /** Starts what a proxy of the daemon runs in. Default: a thread of this process. */
  startProxyThread?: () => ProxyThread;
  /** The memory for calls that pass without a decision of the budgets, if what the proxy runs in was started with it. */
  passMemory?: PassMemory;
  /** The cloud service. The daemon starts and stops it. Null: none. */
  cloud?: CloudService | null;
  /** What was sent, for the page of privacy. */
  sent?: SentLog;
  /** Reads the settings, for their page. */
  settings?(): Promise<SettingsAnswer>;
  /** Sends records and events to the configured webhooks. The daemon starts and stops it. Null: none. */
  webhooks?: WebhookService | null;
  /** Exports records by OTLP. The daemon starts and stops it. Null: not configured. */
  otlp?: OtlpService | null;
  /** Tells the user of budgets outside of the daemon: on the desktop, or by a program. Its errors are logged. */
  notify?(notice: BudgetNotice): void;
  /** Returns how many log lines could not be written. */
  logLinesLost?(): number;
  /** This machine's name, for the dashboard. */
  hostname?: string;
  /**
   * Called when the proxy has ended for good: the socket from a service manager was lost, or its process kept crashing. This process
   * must exit, so that another one takes its place.
   */
  proxyLost?(reason: "port_lost" | "gave_up"): void;
  serve(
    fetch: (request: Request, peer: ApiPeer) => Response | Promise<Response>,
    address: { host: string; port: number },
  ): Promise<{ port: number; close(deadlineMs: number): Promise<void> }>;
}

/** The configuration of the daemon. */
export interface DaemonConfig {
  proxy: ProxyConfig;
  /**
   * `name` is the configured host and `host` its address. `allowedOrigins` is read for each request, so the caller may
   * change it.
   */
  api: { host: string; name?: string; port: number; allowedOrigins: ReadonlySet<string> };
  /** The content of `<meter_home>/loopback-token`. */
  loopbackToken: string;
  /** The file of the certificate that programs should trust. The local page names it to programs that do not. */
  authorityFile?: string;
  /** Whether the API receives the OpenTelemetry of clients. */
  receiveTelemetry?: boolean;
  /** The most bytes stored of a captured body. */
  maxBodyBytes: number;
  /** How long captured bodies are kept. */
  bodyRetentionDays: number;
  /** The budgets of `config.toml`, and the machine and person that their scopes can name. */
  budgets?: { readonly configured: readonly Budget[]; readonly place: CallFacts };
  /** Warnings about the configuration, as text for people. */
  warnings: readonly string[];
}

/** A running daemon. */
export interface Daemon {
  readonly proxyPort: number;
  readonly apiPort: number;
  status(): DaemonStatus;
  /** The health at `/health`. Unlike `status()` it reads no database and never throws. */
  health(): DaemonHealth;
  /** Lets calls in flight finish until the deadline, stores what was captured and closes everything. */
  stop(deadlineMs: number): Promise<void>;
}
