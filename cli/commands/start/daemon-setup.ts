import type { Writable } from "node:stream";
import type { LogFile } from "../../../adapters/log/rotating-log-file.ts";
import type { CallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import type { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import type { Registry } from "../../../core/metering/usage/registry.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { EarlyProxy } from "../../../daemon/proxy/early-proxy.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import type { DaemonWarnings } from "./daemon-warnings.ts";

/** What is fixed before the daemon opens anything. */
export interface DaemonSetup {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: Writable;
  readonly config: Config;
  readonly logFile: LogFile;
  readonly log: Log;
  readonly warnings: DaemonWarnings;
  readonly registry: Registry;
  readonly callers: CallerLookup;
  readonly opener: ReturnType<typeof createSqliteOpener>;
}

/** What was opened and must be closed again if the daemon does not start. */
export interface OpenedParts {
  earlyProxy: EarlyProxy | null;
  /** Null once the daemon has taken it over. */
  store: Store | null;
}
