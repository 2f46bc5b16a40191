import { readConnection } from "./connection.ts";
import { readLedgerWitness } from "./ledger-watch.ts";
import { loadSyncState, loadUploaderState } from "./machine-states.ts";
import { mergeBodyRules } from "./merge-body-rules.ts";
import type { CloudServicePorts } from "./ports.ts";
import type { CloudSnapshot } from "./results.ts";
import { readWatermark } from "./upload-watermark.ts";

/** Reads the state for `cloud status` from the configuration, the credentials and the store. */
export async function readSnapshot(
  ports: Pick<CloudServicePorts, "store" | "settings" | "credentials" | "machine">,
  workers: CloudSnapshot["workers"],
): Promise<CloudSnapshot> {
  const { store } = ports;
  const { settings, credentials, otherOrigin } = await readConnection(ports);
  const sync = loadSyncState(store);
  const uploader = loadUploaderState(store);
  const row = store.delivery.readState("cloud_state");
  const { bodies } = settings.cloud;
  const uploadFrom = readWatermark(store, bodies.uploadFrom);
  const delivery = store.bodyDelivery.totals({ perProject: mergeBodyRules(settings.cloud), uploadFrom });
  // Without credentials nothing is to be sent.
  const hasCloud = credentials !== null;
  return {
    enabled: settings.cloud.enabled,
    baseUrl: settings.cloud.baseUrl,
    paired: credentials !== null,
    otherOrigin,
    // The row has the newer name if the workspace was renamed.
    workspaceName:
      credentials !== null && credentials.workspaceId === row.workspace_id
        ? row.workspace_name
        : (credentials?.workspaceName ?? null),
    machineId: credentials?.machineId ?? row.machine_id,
    hostname: row.hostname ?? ports.machine.hostname,
    lastConnectedAt: row.last_connected_at,
    sync: {
      pausedReason: sync.pausedReason,
      pausedCode: sync.pausedCode,
      consecutiveFailures: sync.consecutiveFailures,
      lastError: sync.lastError,
      lastErrorAt: sync.lastErrorAt,
      lastTickAt: sync.lastTickAt,
      nextTickAt: sync.nextTickAt,
      pending: hasCloud ? store.delivery.countPending() : 0,
      oldestPendingAt: hasCloud ? store.delivery.oldestPendingAt() : null,
    },
    bodies: {
      enabled: bodies.enabled,
      pausedReason: uploader.pausedReason,
      pausedCode: uploader.pausedCode,
      consecutiveFailures: uploader.consecutiveFailures,
      lastError: uploader.lastError,
      lastErrorAt: uploader.lastErrorAt,
      lastTickAt: uploader.lastTickAt,
      lastUploadAt: delivery.lastUploadAt,
      pending: delivery.pending,
      heldBack: delivery.heldBack,
      recordsPolicyRejected: uploader.recordsPolicyRejected,
      uploadFrom,
    },
    ledger: readLedgerWitness(store.notes, credentials?.workspaceId ?? null),
    quarantined: store.quarantine.count(),
    workers,
  };
}
