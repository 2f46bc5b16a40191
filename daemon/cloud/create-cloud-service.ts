import { describeResult } from "../../core/delivery/retry/cloud-result.ts";
import type { ResumeReport } from "../../core/delivery/sync/sync-events.ts";
import { reconcile } from "../../core/pricing/reconcile/reconcile.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";
import type { CalendarDate } from "../../core/values/time.ts";
import { daemonTotalsSchema } from "../../core/wire/daemon-totals.ts";
import { saveFleetBudgets } from "../budgets/fleet-budgets.ts";
import { applySettings, type ControlledParts, warnOnce } from "./apply-settings.ts";
import type { CloudService } from "./cloud-service.ts";
import { httpStatusOf, parseResponse, readConnection, requestCloud } from "./connection.ts";
import { createCoverageSync } from "./coverage-sync.ts";
import { createFleetSync } from "./fleet-sync.ts";
import { checkLedger, createLedgerWatch } from "./ledger-watch.ts";
import { createLimitSync } from "./limit-sync.ts";
import { readLocalDays, toCloudDays } from "./local-days.ts";
import { loadSyncState } from "./machine-states.ts";
import { createPairingService, type PairingService } from "./pairing-service.ts";
import type { CloudServicePorts } from "./ports.ts";
import { createRatesWorker } from "./rates-worker.ts";
import { requestWhoami } from "./request-whoami.ts";
import type {
  CloudSnapshot,
  DisconnectResult,
  PauseResult,
  ReconcileResult,
  WhoamiResult,
} from "./results.ts";
import { readSnapshot } from "./snapshot.ts";
import { createStoppablePorts, type StoppablePorts } from "./stoppable-ports.ts";
import { createSupervisor } from "./supervise.ts";
import { syncNow } from "./sync-now.ts";
import { createCloudWorkers } from "./workers.ts";

/** How often the configuration is checked for changes, in milliseconds. Commands that change it also call `reload()`. */
const SETTINGS_CHECK_MS = 10_000;

/** How long the cloud may take to revoke a key, in milliseconds. */
const REVOKE_MS = 15_000;

/** The state of a cloud service. */
interface Service extends ControlledParts {
  readonly pairing: PairingService;
  readonly stoppable: StoppablePorts;
  cancelCheck(): void;
}

/** Creates the cloud service. No worker runs before `start()`. The other methods do not require it. */
export function createCloudService(ports: CloudServicePorts): CloudService {
  const service = createService(ports);
  const { workers, pairing, rates, coverage, fleet } = service;
  return {
    start: () => start(service),
    stop: () => stop(service),
    reload: () => reload(service),
    state: () => readState(service),
    connect: (options = {}) => pairing.connect(options),
    connectStatus: () => pairing.status(),
    connectSettled: () => pairing.settled(),
    cancelConnect: () => pairing.cancel(),
    pause: () => pause(service),
    resume: () => resume(service),
    syncNow: () => syncNow(ports, workers, coverage),
    whoami: () => whoami(ports),
    disconnect: () => disconnect(service),
    reconcile: (fromDate, toDate) => compareTotals(ports, fromDate, toDate),
    checkLedger: (options) => checkLedger(ports, options),
    refreshRates: rates.refresh,
    onFleetBudgets: fleet.onChange,
  };
}

function createService(ports: CloudServicePorts): Service {
  const workers = createCloudWorkers(ports);
  const { sync, uploader } = workers;
  const stoppable = createStoppablePorts(ports);
  const service: Service = {
    ports,
    workers,
    stoppable,
    rates: createRatesWorker(stoppable.ports),
    ledger: createLedgerWatch(stoppable.ports),
    limits: createLimitSync(stoppable.ports),
    coverage: createCoverageSync(stoppable.ports),
    fleet: createFleetSync(stoppable.ports),
    supervisors: {
      sync: createSupervisor(ports, { name: "sync", run: sync.run, stop: sync.stop }),
      bodies: createSupervisor(ports, { name: "bodies", run: uploader.run, stop: uploader.stop }),
    },
    pairing: createPairingService(ports, {
      async paired() {
        await sync.dispatch({ kind: "credentials_replaced" });
        // The new cloud may support what the last one refused, or may be the same cloud after a restore.
        service.coverage.enable(false);
        service.limits.enable(false);
        service.ledger.enable(false);
        if (service.started) await applySettings(service);
      },
      async connectionSaved() {
        if (service.started) await applySettings(service);
      },
    }),
    started: false,
    cancelCheck() {},
    lastWarning: null,
    bodiesEnabled: null,
    scheduledRates: null,
  };
  return service;
}

async function start(service: Service): Promise<void> {
  if (service.started) return;
  service.started = true;
  service.stoppable.restart();
  service.pairing.start();
  await checkSettings(service);
}

async function stop(service: Service): Promise<void> {
  const { rates, ledger, limits, coverage, fleet, pairing, supervisors } = service;
  service.started = false;
  service.cancelCheck();
  rates.stop();
  ledger.stop();
  limits.stop();
  coverage.stop();
  fleet.stop();
  service.stoppable.stop();
  pairing.stop();
  await Promise.all([supervisors.sync.stop(), supervisors.bodies.stop()]);
}

async function reload(service: Service): Promise<void> {
  const { ports, workers } = service;
  // A command may also have pulled rates.
  ports.ratesChanged();
  if (service.started) return await applySettings(service);
  // Without a daemon, this notices and stamps a switch of body sync at once.
  await workers.uploader.use((driver) => driver.idle());
}

/** Applies the settings now, and again after each interval. */
async function checkSettings(service: Service): Promise<void> {
  try {
    await applySettings(service);
  } catch (cause) {
    warnOnce(service, `nothing is sent to the cloud: ${errorMessage(cause) ?? errorName(cause)}`);
  }
  if (!service.started) return;
  service.cancelCheck = service.ports.clock.setTimer(SETTINGS_CHECK_MS, () => void checkSettings(service));
}

function readState({ ports, started, supervisors }: Service): Promise<CloudSnapshot> {
  const { sync, bodies } = supervisors;
  return readSnapshot(ports, started ? { sync: sync.status, bodies: bodies.status } : null);
}

async function pause({ ports, workers }: Service): Promise<PauseResult> {
  const { settings, credentials } = await readConnection(ports);
  if (credentials === null || !settings.cloud.enabled) return { kind: "not_connected" };
  const before = loadSyncState(ports.store).pausedReason;
  if (before === null) await workers.requestPause();
  const { pausedReason } = loadSyncState(ports.store);
  return {
    kind: before === pausedReason ? "already_paused" : "paused",
    pausedReason: pausedReason ?? "paused_manual",
  };
}

async function resume(service: Service): Promise<ResumeReport> {
  const { ports, workers, supervisors } = service;
  const { credentials } = await readConnection(ports);
  if (credentials === null && loadSyncState(ports.store).pausedReason === null) {
    const message = "This machine is not connected.\nConnect it: meter cloud connect";
    return { ok: false, reason: "not_connected", httpStatus: null, message };
  }
  const report = await workers.requestResume();
  if (report.ok && service.started) {
    supervisors.sync.resume();
    supervisors.bodies.resume();
  }
  return report;
}

async function whoami(ports: CloudServicePorts): Promise<WhoamiResult> {
  const { credentials } = await readConnection(ports);
  if (credentials === null) return { kind: "not_connected" };
  const { result, whoami: found, code } = await requestWhoami(ports, credentials);
  if (found !== null) {
    ports.store.delivery.updateState("cloud_state", {
      last_connected_at: ports.clock.now(),
      workspace_name: found.workspace.name,
    });
    return { kind: "valid", whoami: found };
  }
  const httpStatus = httpStatusOf(result);
  if (httpStatus === 401) return { kind: "key_invalid" };
  if (httpStatus === 403) return { kind: "forbidden", code };
  return { kind: "failed", httpStatus, error: describeResult(result) };
}

async function disconnect(service: Service): Promise<DisconnectResult> {
  const { ports, pairing } = service;
  await pairing.cancel();
  const settings = await ports.settings();
  // Unreadable credentials are deleted too.
  const credentials = await ports.credentials.read().catch(() => "unreadable" as const);
  if (credentials === null && !settings.cloud.enabled) return { kind: "not_connected" };
  let error: string | null = null;
  if (credentials === "unreadable") error = "the stored credentials could not be read";
  else if (credentials !== null) {
    const reply = await requestCloud(ports, credentials, "/v1/daemon/key", {
      method: "DELETE",
      timeoutMs: REVOKE_MS,
    });
    // On 401 the key has already been revoked.
    const revoked = reply.kind === "http" && (reply.status === 204 || reply.status === 401);
    error = revoked ? null : describeResult(reply);
  }
  await ports.credentials.exclusively(async (file) => {
    // The mirror first, so that deleted credentials are not restored from it.
    ports.store.delivery.updateState("cloud_state", { enabled: 0, api_key_mirror: null });
    await file.clear();
    await ports.saveConnection({ enabled: false });
  });
  saveFleetBudgets(ports.store.notes, null);
  if (service.started) await applySettings(service);
  return { kind: "disconnected", revoked: error === null, error };
}

/** Compares this machine's totals of the days with the cloud's. */
async function compareTotals(
  ports: CloudServicePorts,
  fromDate: CalendarDate,
  toDate: CalendarDate,
): Promise<ReconcileResult> {
  const { settings, credentials } = await readConnection(ports);
  if (credentials === null) return { kind: "not_connected" };
  const query = new URLSearchParams({ from_date: fromDate, to_date: toDate });
  const reply = await requestCloud(ports, credentials, `/v1/reconciliation/daemon-totals?${query}`);
  const httpStatus = httpStatusOf(reply);
  if (httpStatus !== 200) return { kind: "failed", httpStatus, error: describeResult(reply) };
  const totals = parseResponse(reply, daemonTotalsSchema);
  if (totals === null) return { kind: "failed", httpStatus, error: "no answer: invalid_answer" };
  const local = readLocalDays(ports.store.delivery, settings.cloud.upload, fromDate, toDate);
  return { kind: "compared", fromDate, toDate, reconciliation: reconcile(local, toCloudDays(totals)) };
}
