import { readConnection } from "./connection.ts";
import { loadSyncState, loadUploaderState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import type { CloudSnapshot } from "./results.ts";
import { readWatermark } from "./upload-watermark.ts";

/** Reads all that `cloud status` shows from the configuration, the credentials and the store. */
export async function readSnapshot(
  ports: Pick<CloudServicePorts, "store" | "settings" | "credentials" | "machine">,
  workers: CloudSnapshot["workers"],
): Promise<CloudSnapshot> {
  const { store } = ports;
  const { settings, credentials, otherOrigin } = await readConnection(ports);
  const sync = loadSyncState(store);
  const uploader = loadUploaderState(store);
  const row = store.readCloudState("cloud_state");
  const delivery = store.bodyDelivery();
  // Where there is nobody to send to nothing waits; counting it would read the whole table, for every page that asks.
  const waits = credentials !== null;
  return {
    enabled: settings.cloud.enabled,
    baseUrl: settings.cloud.baseUrl,
    paired: credentials !== null,
    otherOrigin,
    // Newer than the credentials where the workspace was renamed since.
    workspaceName:
      credentials !== null && credentials.workspaceId === row.workspace_id
        ? row.workspace_name
        : (credentials?.workspaceName ?? null),
    machineId: credentials?.machineId ?? row.machine_id,
    hostname: row.hostname ?? ports.machine.hostname,
    lastConnectedAt: row.last_connected_at,
    sync: {
      pausedReason: sync.pausedReason,
      consecutiveFailures: sync.consecutiveFailures,
      lastError: sync.lastError,
      lastErrorAt: sync.lastErrorAt,
      lastTickAt: sync.lastTickAt,
      nextTickAt: sync.nextTickAt,
      pending: waits ? store.countPending() : 0,
      oldestPendingAt: waits ? store.oldestPendingAt() : null,
    },
    bodies: {
      enabled: settings.cloud.bodies.enabled,
      pausedReason: uploader.pausedReason,
      consecutiveFailures: uploader.consecutiveFailures,
      lastError: uploader.lastError,
      lastErrorAt: uploader.lastErrorAt,
      lastTickAt: uploader.lastTickAt,
      lastUploadAt: delivery.lastUploadAt,
      pending: delivery.pending,
      recordsPolicyRejected: uploader.recordsPolicyRejected,
      uploadFrom: readWatermark(store, settings.cloud.bodies.uploadFrom),
    },
    quarantined: store.countQuarantine(),
    workers,
  };
}
