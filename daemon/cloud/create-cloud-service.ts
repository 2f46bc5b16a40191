import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import { reconcile } from "../../core/reconcile/mod.ts";
import { describeAnswer } from "../../core/retry/mod.ts";
import { DRAIN_PAUSE_MS, type SyncReport } from "../../core/sync/mod.ts";
import type { CalendarDate } from "../../core/time.ts";
import { daemonTotalsSchema } from "../../core/wire/mod.ts";
import { pause } from "../pause.ts";
import { askWhoami } from "./ask-whoami.ts";
import type { CloudService } from "./cloud-service.ts";
import { askCloud, readAnswer, readConnection, statusOf } from "./connection.ts";
import { readLocalDays, toCloudDays } from "./local-days.ts";
import { loadSyncState } from "./machine-states.ts";
import { createPairingService } from "./pairing-service.ts";
import type { CloudServicePorts } from "./ports.ts";
import { createRatesWorker } from "./rates-worker.ts";
import type { DisconnectResult, ReconcileResult, SyncNowResult, WhoamiResult } from "./results.ts";
import { readSnapshot } from "./snapshot.ts";
import { createSupervisor } from "./supervise.ts";
import { createCloudWorkers } from "./workers.ts";

/** How often a changed configuration is looked for, milliseconds; a command that changes it says so at once. */
const SETTINGS_CHECK_MS = 10_000;

/** How long the cloud may take to revoke a key, milliseconds. */
const REVOKE_MS = 15_000;

/** Makes the daemon's side of the cloud. Nothing runs before `start()`; every method works without it too. */
export function createCloudService(ports: CloudServicePorts): CloudService {
  const { store, clock, log } = ports;
  const workers = createCloudWorkers(ports);
  const rates = createRatesWorker(ports);
  const supervisors = {
    sync: createSupervisor(ports, { name: "sync", run: workers.sync.run, stop: workers.sync.stop }),
    bodies: createSupervisor(ports, {
      name: "bodies",
      run: workers.uploader.run,
      stop: workers.uploader.stop,
    }),
  };
  const pairing = createPairingService(ports, {
    async paired() {
      await workers.sync.tell({ kind: "credentials_replaced" });
      if (started) await apply();
    },
    async connectionSaved() {
      if (started) await apply();
    },
  });
  let started = false;
  let cancelCheck = () => {};
  /** What was wrong with the configuration last, so that it is told once. */
  let problem: string | null = null;
  let bodiesEnabled: boolean | null = null;
  let ratesSaid: string | null = null;

  /** Starts, stops and tells the workers what the configuration and the credentials say now. */
  async function apply(): Promise<void> {
    const { settings, credentials, otherOrigin } = await readConnection(ports);
    const connected = settings.cloud.enabled && credentials !== null;
    // What can't be written is tried again at the next look; nothing else waits for it.
    await keepConnection(connected ? credentials : null).catch(() => {});
    // It may have been stopped meanwhile.
    if (!started) return;
    if (otherOrigin !== null)
      complain("the stored token is another cloud's than the configured one: not used");
    else problem = null;
    supervisors.sync.enable(connected);
    supervisors.bodies.enable(connected);
    const { enabled } = settings.cloud.bodies;
    if (bodiesEnabled !== null && bodiesEnabled !== enabled) {
      await workers.uploader.tell({ kind: "body_sync_switched", enabled });
    }
    bodiesEnabled = enabled;
    const { autoPull, pullIntervalMs, pullUrl } = settings.pricing;
    const said = JSON.stringify([autoPull, pullIntervalMs, pullUrl, connected]);
    if (started && said !== ratesSaid) await rates.schedule();
    ratesSaid = said;
  }

  /** What `cloud_state` says of the connection, also where the database is a new one, or a person edited the file. */
  async function keepConnection(credentials: CloudCredentials | null): Promise<void> {
    const row = store.readCloudState("cloud_state");
    if (credentials === null) {
      if (row.enabled === 1) store.updateCloudState("cloud_state", { enabled: 0 });
    } else if (
      row.enabled === 0 ||
      row.workspace_id !== credentials.workspaceId ||
      row.api_key_mirror === null
    ) {
      store.updateCloudState("cloud_state", {
        enabled: 1,
        workspace_id: credentials.workspaceId,
        workspace_name: credentials.workspaceName,
        machine_id: credentials.machineId,
        hostname: ports.machine.hostname,
        api_key_mirror: await ports.credentials.seal(credentials),
      });
    }
  }

  function complain(warning: string): void {
    if (problem !== warning) log.warn("daemon.warning", { warning });
    problem = warning;
  }

  async function check(): Promise<void> {
    try {
      await apply();
    } catch {
      complain("the configuration or the cloud's credentials can't be read: nothing is sent");
    }
    if (started) cancelCheck = clock.setTimer(SETTINGS_CHECK_MS, () => void check());
  }

  async function whoami(): Promise<WhoamiResult> {
    const { credentials } = await readConnection(ports);
    if (credentials === null) return { kind: "not_connected" };
    const { answer, whoami: found, code } = await askWhoami(ports, credentials);
    if (found !== null) {
      store.updateCloudState("cloud_state", {
        last_connected_at: clock.now(),
        workspace_name: found.workspace.name,
      });
      return { kind: "valid", whoami: found };
    }
    const httpStatus = statusOf(answer);
    if (httpStatus === 401) return { kind: "key_invalid" };
    if (httpStatus === 403) return { kind: "forbidden", code };
    return { kind: "failed", httpStatus, error: describeAnswer(answer) };
  }

  async function syncNow(): Promise<SyncNowResult> {
    const { settings, credentials } = await readConnection(ports);
    if (credentials === null || !settings.cloud.enabled) {
      const message = "this machine is not connected";
      const nothing = { accepted: 0, duplicates: 0, quarantined: 0 };
      const report: SyncReport = { ok: false, reason: "failed", message, ...nothing };
      return { kind: "not_connected", report, bodies: null };
    }
    let report = await workers.requestSync();
    // A run takes one page; a backlog is several of them.
    for (let settled = settledBy(report); report.ok && settled > 0 && store.pendingProjects(1).length > 0; ) {
      await pause(clock, DRAIN_PAUSE_MS);
      const next = await workers.requestSync();
      settled = settledBy(next);
      report = {
        ...next,
        accepted: report.accepted + next.accepted,
        duplicates: report.duplicates + next.duplicates,
        quarantined: report.quarantined + next.quarantined,
      };
    }
    const kind = report.ok ? "synced" : "not_synced";
    if (!settings.cloud.bodies.enabled) return { kind, report, bodies: null };
    const before = { ...workers.counts, rejected: store.readCloudState("cloud_body_sync_state") };
    const after = await workers.requestPass();
    return {
      kind,
      report,
      bodies: {
        uploaded: workers.counts.uploaded - before.uploaded,
        quarantined: workers.counts.quarantined - before.quarantined,
        policyRejected: after.recordsPolicyRejected - before.rejected.records_policy_rejected,
        pending: store.bodyDelivery().pending,
        lastError: after.lastError,
      },
    };
  }

  async function disconnect(): Promise<DisconnectResult> {
    await pairing.cancel();
    const settings = await ports.settings();
    // What can't be read is deleted as well: that is what was asked for.
    const credentials = await ports.credentials.read().catch(() => "unreadable" as const);
    if (credentials === null && !settings.cloud.enabled) return { kind: "not_connected" };
    let error: string | null = null;
    if (credentials === "unreadable") error = "the stored credentials could not be read";
    else if (credentials !== null) {
      const reply = await askCloud(ports, credentials, "/v1/daemon/key", {
        method: "DELETE",
        timeoutMs: REVOKE_MS,
      });
      // A key that the cloud does not know any more is revoked as well.
      const revoked = reply.kind === "http" && (reply.status === 204 || reply.status === 401);
      error = revoked ? null : describeAnswer(reply);
    }
    await ports.credentials.clear();
    store.updateCloudState("cloud_state", { enabled: 0, api_key_mirror: null });
    await ports.saveConnection({ enabled: false });
    if (started) await apply();
    return { kind: "disconnected", revoked: error === null, error };
  }

  async function compare(fromDate: CalendarDate, toDate: CalendarDate): Promise<ReconcileResult> {
    const { settings, credentials } = await readConnection(ports);
    if (credentials === null) return { kind: "not_connected" };
    const query = new URLSearchParams({ from_date: fromDate, to_date: toDate });
    const reply = await askCloud(ports, credentials, `/v1/reconciliation/daemon-totals?${query}`);
    const httpStatus = statusOf(reply);
    if (httpStatus !== 200) return { kind: "failed", httpStatus, error: describeAnswer(reply) };
    const totals = readAnswer(reply, daemonTotalsSchema);
    if (totals === null) return { kind: "failed", httpStatus, error: "no answer: invalid_answer" };
    const local = readLocalDays(store, settings.cloud.upload, fromDate, toDate);
    return { kind: "compared", fromDate, toDate, reconciliation: reconcile(local, toCloudDays(totals)) };
  }

  return {
    async start() {
      if (started) return;
      started = true;
      pairing.start();
      await check();
    },
    async stop() {
      started = false;
      cancelCheck();
      rates.stop();
      pairing.stop();
      await Promise.all([supervisors.sync.stop(), supervisors.bodies.stop()]);
    },
    async reload() {
      // A command may have pulled rates as well.
      ports.ratesChanged();
      if (started) return await apply();
      // Without a daemon: a switch of body sync is noticed and stamped now, not when a daemon starts.
      await workers.uploader.use((driver) => driver.idle());
    },
    state: () =>
      readSnapshot(
        ports,
        started ? { sync: supervisors.sync.status, bodies: supervisors.bodies.status } : null,
      ),
    connect: (options = {}) => pairing.connect(options),
    connectStatus: () => pairing.status(),
    connectSettled: () => pairing.settled(),
    cancelConnect: () => pairing.cancel(),
    async pause() {
      const before = loadSyncState(store).pausedReason;
      if (before === null) await workers.requestPause();
      const { pausedReason } = loadSyncState(store);
      return {
        kind: before === pausedReason ? "already_paused" : "paused",
        pausedReason: pausedReason ?? "paused_manual",
      };
    },
    async resume() {
      const report = await workers.requestResume();
      if (report.ok && started) {
        supervisors.sync.resume();
        supervisors.bodies.resume();
      }
      return report;
    },
    syncNow,
    whoami,
    disconnect,
    reconcile: compare,
    refreshRates: rates.refresh,
  };
}

const settledBy = (report: SyncReport): number => report.accepted + report.duplicates + report.quarantined;
