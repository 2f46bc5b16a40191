import type { Millis } from "../core/values/time.ts";
import type { TelemetryRefusals } from "./api/telemetry-status.ts";
import type { FollowedGate } from "./budgets/follow-gate.ts";
import type { DaemonConfig, DaemonPorts } from "./daemon.ts";
import type { Pipeline } from "./pipeline.ts";
import type { RunningProxy } from "./proxy/start-proxy.ts";
import type { BodySweep } from "./tasks/body-sweep.ts";
import type { RunningWatchdog } from "./tasks/watchdog.ts";

/** The loopback API while it listens. */
export type ServedApi = Awaited<ReturnType<DaemonPorts["serve"]>>;

/** An end of the proxy's thread or process that was not asked for: a signal or an error. */
export interface ProxyLoss {
  readonly cause: string;
  readonly at: Millis;
}

/** The parts of a running daemon. */
export interface RunningDaemon extends Pipeline {
  readonly ports: DaemonPorts;
  readonly config: DaemonConfig;
  readonly startedAt: Millis;
  readonly served: ServedApi;
  readonly proxy: RunningProxy;
  /** How often the proxy's thread or process was replaced. */
  restarts(): number;
  lastProxyLoss(): ProxyLoss | null;
  readonly refusals: TelemetryRefusals;
  readonly sweep: BodySweep;
  readonly watchdog: RunningWatchdog;
  stopHeartbeat(): void;
  stopRollupBuild(): void;
  stopRunningTimes(): void;
  readonly gate: FollowedGate;
  stopping: boolean;
}
