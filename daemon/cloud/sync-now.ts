import { remainingRetryAfter } from "../../core/delivery/retry/backoff-delay.ts";
import type { SyncReport } from "../../core/delivery/sync/sync-events.ts";
import { DRAIN_PAUSE_MS } from "../../core/delivery/sync/sync-steps.ts";
import { readBodyPolicy } from "./body-uploader.ts";
import { readConnection } from "./connection.ts";
import type { CoverageSync } from "./coverage-sync.ts";
import { delay } from "./delay.ts";
import type { CloudServicePorts } from "./ports.ts";
import type { SyncNowResult } from "./results.ts";
import type { CloudWorkers } from "./workers.ts";

/**
 * Sends everything that is pending, first requests and then bodies, until all is sent or sending fails. Also sends the coverage, whose
 * result does not count: an older cloud does not support it.
 */
export async function syncNow(
  ports: CloudServicePorts,
  workers: CloudWorkers,
  coverage: Pick<CoverageSync, "send">,
): Promise<SyncNowResult> {
  const { settings, credentials } = await readConnection(ports);
  if (credentials === null || !settings.cloud.enabled) {
    const message = "this machine is not connected";
    const nothing = { accepted: 0, duplicates: 0, quarantined: 0 };
    const report: SyncReport = { ok: false, reason: "failed", message, ...nothing };
    return { kind: "not_connected", report, bodies: null };
  }
  const report = await syncAll(ports, workers);
  if (report.ok) await coverage.send();
  const kind = report.ok ? "synced" : "not_synced";
  if (!settings.cloud.bodies.enabled) return { kind, report, bodies: null };
  const bodies = await uploadBodies(ports, workers);
  const isUploaded = bodies.pausedReason === null && bodies.lastError === null;
  return { kind: isUploaded ? kind : "not_synced", report, bodies };
}

const countSettled = (report: SyncReport): number => report.accepted + report.duplicates + report.quarantined;

/** Runs sync until no request is pending. One run sends one page. */
async function syncAll({ store, clock }: CloudServicePorts, workers: CloudWorkers): Promise<SyncReport> {
  let report = await workers.requestSync();
  let settled = countSettled(report);
  while (report.ok && settled > 0 && store.delivery.pendingProjects(1, clock.now()).length > 0) {
    await delay(clock, DRAIN_PAUSE_MS);
    const next = await workers.requestSync();
    settled = countSettled(next);
    report = {
      ...next,
      accepted: report.accepted + next.accepted,
      duplicates: report.duplicates + next.duplicates,
      quarantined: report.quarantined + next.quarantined,
    };
  }
  return report;
}

async function uploadBodies(
  ports: CloudServicePorts,
  workers: CloudWorkers,
): Promise<NonNullable<SyncNowResult["bodies"]>> {
  const { store, clock } = ports;
  const before = { ...workers.counts };
  const { state: after, isFailed } = await workers.requestPass();
  const { pending, heldBack } = store.bodyDelivery.totals(readBodyPolicy(ports, await ports.settings()));
  // The error of an earlier attempt is reported only if the cloud's Retry-After prevented this one.
  const isDeferred = pending > 0 && remainingRetryAfter(after, clock.now()) > 0;
  return {
    uploaded: workers.counts.uploaded - before.uploaded,
    quarantined: workers.counts.quarantined - before.quarantined,
    pending,
    policyRejected: after.recordsPolicyRejected,
    heldBack,
    pausedReason: after.pausedReason,
    pausedCode: after.pausedCode,
    lastError: isFailed || isDeferred ? after.lastError : null,
  };
}
