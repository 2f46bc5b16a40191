import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import { readConnection } from "./connection.ts";
import type { CoverageSync } from "./coverage-sync.ts";
import type { FleetSync } from "./fleet-sync.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import type { LimitSync } from "./limit-sync.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import type { RatesWorker } from "./rates-worker.ts";
import type { Supervisor } from "./supervise.ts";
import { saveSettingWhileOff } from "./upload-watermark.ts";
import type { CloudWorkers } from "./workers.ts";

/** The parts of the cloud service that the configuration controls, and the settings they last got. */
export interface ControlledParts {
  readonly ports: CloudServicePorts;
  readonly workers: CloudWorkers;
  readonly rates: RatesWorker;
  readonly ledger: LedgerWatch;
  readonly limits: LimitSync;
  readonly coverage: CoverageSync;
  readonly fleet: FleetSync;
  readonly supervisors: { readonly sync: Supervisor; readonly bodies: Supervisor };
  started: boolean;
  /** The last warning about the configuration, which is logged once. */
  lastWarning: string | null;
  bodiesEnabled: boolean | null;
  /** The settings that the pull of rates was scheduled with, as JSON. */
  scheduledRates: string | null;
}

/** Starts, stops and notifies the workers according to the current configuration and credentials. */
export async function applySettings(parts: ControlledParts): Promise<void> {
  const { ports, supervisors } = parts;
  const { settings, credentials, otherOrigin } = await readConnection(ports);
  const connected = settings.cloud.enabled && credentials !== null;
  // A failed write is retried at the next check, and nothing else depends on it.
  await saveConnectionRow(ports, connected ? credentials : null).catch(() => {});
  // The service may have been stopped in the meantime.
  if (!parts.started) return;
  if (otherOrigin !== null)
    warnOnce(parts, "the stored token is for another cloud than the configured one, so it is not used");
  else parts.lastWarning = null;
  supervisors.sync.enable(connected);
  supervisors.bodies.enable(connected);
  parts.ledger.enable(connected);
  parts.limits.enable(connected);
  parts.coverage.enable(connected);
  parts.fleet.enable(connected);
  await applyBodySettings(parts, settings);
  await applyRateSettings(parts, settings, connected);
}

async function applyBodySettings(parts: ControlledParts, { cloud }: CloudSettings): Promise<void> {
  const { enabled, uploadFrom } = cloud.bodies;
  if (!enabled) saveSettingWhileOff(parts.ports.store.notes, uploadFrom);
  if (parts.bodiesEnabled !== null && parts.bodiesEnabled !== enabled) {
    await parts.workers.uploader.dispatch({ kind: "body_sync_switched", enabled });
  }
  parts.bodiesEnabled = enabled;
}

async function applyRateSettings(
  parts: ControlledParts,
  { pricing }: CloudSettings,
  connected: boolean,
): Promise<void> {
  const { autoPull, pullIntervalMs, pullUrl, source } = pricing;
  const rateSettings = JSON.stringify([autoPull, pullIntervalMs, pullUrl, source, connected]);
  if (parts.started && rateSettings !== parts.scheduledRates) await parts.rates.schedule();
  parts.scheduledRates = rateSettings;
}

/** Updates the connection in `cloud_state`. The database may be new, or the user may have edited the credentials file. */
async function saveConnectionRow(
  { store, machine, credentials: stored }: CloudServicePorts,
  credentials: CloudCredentials | null,
): Promise<void> {
  const row = store.delivery.readState("cloud_state");
  if (credentials === null) {
    if (row.enabled === 1) store.delivery.updateState("cloud_state", { enabled: 0 });
  } else if (
    row.enabled === 0 ||
    row.workspace_id !== credentials.workspaceId ||
    row.api_key_mirror === null
  ) {
    await stored.exclusively(async (file) => {
      // A disconnect may have deleted them since they were read, and a new connection has saved its own.
      const current = await file.read();
      if (current?.token !== credentials.token) return;
      store.delivery.updateState("cloud_state", {
        enabled: 1,
        workspace_id: credentials.workspaceId,
        workspace_name: credentials.workspaceName,
        machine_id: credentials.machineId,
        hostname: machine.hostname,
        api_key_mirror: await file.seal(credentials),
      });
    });
  }
}

/** Logs a warning about the configuration, unless it was the last one logged. */
export function warnOnce(parts: ControlledParts, warning: string): void {
  if (parts.lastWarning !== warning) parts.ports.log.warn("daemon.warning", { warning });
  parts.lastWarning = warning;
}
