import { machineBudgetsSchema } from "../../core/wire/fleet-budgets.ts";
import { saveFleetBudgets } from "../budgets/fleet-budgets.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { httpStatusOf, parseResponse, readConnection, requestCloud } from "./connection.ts";
import { loadSyncState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";

/** How often the fleet budgets are requested, in milliseconds. Source: docs/specification.md#fleet-budgets. */
export const FLEET_SYNC_MS = 30_000;

/** How often a machine asks that no budget binds, in milliseconds. Source: docs/specification.md#fleet-budgets. */
export const FLEET_IDLE_MS = 300_000;

/** How long a cloud without fleet budgets is not asked again, in milliseconds. */
const UNSUPPORTED_MS = 3_600_000;

/** How long the cloud may take to answer, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** Requests the fleet budgets while this machine is connected. */
export interface FleetSync {
  /** Without a connection, no workspace's budgets bind this machine. */
  enable(connected: boolean): void;
  /** Calls the listener after each statement of the cloud. */
  onChange(listener: () => void): void;
  stop(): void;
}

/** The result of one round. */
export type FleetSyncResult = "stated" | "none" | "held_back" | "unsupported" | "failed";

/** How long after each result the cloud is asked again, in milliseconds. */
const PAUSES_MS: Readonly<Record<FleetSyncResult, number>> = {
  stated: FLEET_SYNC_MS,
  none: FLEET_IDLE_MS,
  held_back: FLEET_SYNC_MS,
  unsupported: UNSUPPORTED_MS,
  failed: FLEET_SYNC_MS,
};

/**
 * Requests the budgets that bind this machine and saves them. After a failure, those of the last statement stay. Nothing is requested
 * while the cloud refuses the key.
 */
export async function requestFleetBudgets(ports: CloudServicePorts): Promise<FleetSyncResult> {
  const { store, clock } = ports;
  const { settings, credentials } = await readConnection(ports);
  if (credentials === null || !settings.cloud.enabled) return "held_back";
  const { pausedReason } = loadSyncState(store);
  if (pausedReason !== null && pausedReason !== "paused_manual") return "held_back";
  const reply = await requestCloud(ports, credentials, "/v1/daemon/budgets", { timeoutMs: TIMEOUT_MS });
  const status = httpStatusOf(reply);
  if (status === 404) {
    saveFleetBudgets(store.notes, null);
    return "unsupported";
  }
  const stated = status === 200 ? parseResponse(reply, machineBudgetsSchema) : null;
  if (stated === null) return "failed";
  const { workspaceId, workspaceName, baseUrl } = credentials;
  const address = `${baseUrl}/w/${workspaceId}/budgets`;
  const { budgets } = stated;
  const isNone = budgets.length === 0;
  const at = clock.now();
  saveFleetBudgets(store.notes, isNone ? null : { workspace: workspaceName, address, at, budgets });
  return isNone ? "none" : "stated";
}

/** Creates the sync of fleet budgets. A failed request is repeated after the usual interval. */
export function createFleetSync(ports: CloudServicePorts): FleetSync {
  let cancel = () => {};
  let isEnabled: boolean | null = null;
  const listeners: (() => void)[] = [];
  const tell = () => {
    for (const listener of listeners) listener();
  };

  async function send(): Promise<void> {
    const result = await requestFleetBudgets(ports).catch((cause): FleetSyncResult => {
      logTaskCrash(ports.log, "fleet_budgets", cause);
      return "failed";
    });
    if (isEnabled !== true) return drop();
    if (result !== "failed" && result !== "held_back") tell();
    setTimer(PAUSES_MS[result]);
  }

  function setTimer(delayMs: number): void {
    cancel();
    cancel = ports.clock.setTimer(delayMs, () => void send());
  }

  /** The machine left the cloud, perhaps while a request was under way. Budgets that can't be dropped now are dropped later. */
  function drop(): void {
    if (isEnabled !== false) return;
    try {
      saveFleetBudgets(ports.store.notes, null);
    } catch (cause) {
      logTaskCrash(ports.log, "fleet_budgets", cause, { restart_delay_ms: FLEET_SYNC_MS });
      cancel = ports.clock.setTimer(FLEET_SYNC_MS, drop);
      return;
    }
    tell();
  }

  return {
    enable(connected) {
      if (connected === isEnabled) return;
      isEnabled = connected;
      cancel();
      if (connected) setTimer(0);
      else drop();
    },
    onChange: (listener) => void listeners.push(listener),
    stop() {
      isEnabled = null;
      cancel();
    },
  };
}
