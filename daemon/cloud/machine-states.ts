import type { PairingState } from "../../core/pairing/mod.ts";
import type { StateStore } from "../../core/ports/state-store.ts";
import { createSyncState, type SyncState } from "../../core/sync/mod.ts";
import { createUploaderState, type UploaderState } from "../../core/uploader/mod.ts";
import type { Store } from "../store/mod.ts";

type MachineStore = Pick<Store, "readMeta" | "saveMachine" | "readCloudState">;

/** Where the machines' whole states are kept, under keys of `meta`. */
const KEYS = { sync: "sync_machine", uploader: "uploader_machine", pairing: "pairing_machine" } as const;

/** A state as JSON; what was written by another version and can't be read counts as none. */
function readState<State>(store: MachineStore, key: string): State | null {
  const text = store.readMeta(key);
  if (text === null) return null;
  try {
    return JSON.parse(text) as State;
  } catch {
    return null;
  }
}

/** Saves only what changed: a run is lost in a crash by design, and most events of a drain change nothing else. */
function createSaver<State>(
  load: () => State | null,
  write: (state: State, json: string) => void,
): StateStore<State> {
  let saved: string | null = null;
  return {
    async load() {
      return load();
    },
    async save(state) {
      const kept = { ...state, ...("run" in (state as object) ? { run: null } : {}) };
      const json = JSON.stringify(kept);
      if (json === saved) return;
      write(kept, json);
      saved = json;
    },
  };
}

/** The metadata machine's state, and the columns that show it. A reason that was changed in the table counts. */
export function createSyncStates(store: MachineStore): StateStore<SyncState> {
  return createSaver<SyncState>(
    () => loadSyncState(store),
    (state, json) => {
      // Also in `cloud_state`, whose list the contract gives. Before the other, which is read to find what was missed.
      store.saveMachine(KEYS.sync, json, "cloud_state", { paused_reason: state.pausedReason });
      store.saveMachine(KEYS.sync, json, "cloud_sync_state", {
        paused_reason: state.pausedReason,
        consecutive_failures: state.consecutiveFailures,
        last_error: state.lastError,
        last_error_at: state.lastErrorAt,
        last_tick_at: state.lastTickAt,
      });
    },
  );
}

/** The metadata machine's state as it was saved. */
export function loadSyncState(store: MachineStore): SyncState {
  const row = store.readCloudState("cloud_sync_state");
  const saved = readState<SyncState>(store, KEYS.sync);
  if (saved !== null && saved.pausedReason === row.paused_reason) return saved;
  return createSyncState({
    pausedReason: row.paused_reason,
    consecutiveFailures: row.consecutive_failures,
    lastError: row.last_error,
    lastErrorAt: row.last_error_at,
    lastTickAt: row.last_tick_at,
  });
}

/** The uploader's state, and the columns that show it. */
export function createUploaderStates(store: MachineStore): StateStore<UploaderState> {
  return createSaver<UploaderState>(
    () => loadUploaderState(store),
    (state, json) =>
      store.saveMachine(KEYS.uploader, json, "cloud_body_sync_state", {
        paused_reason: state.pausedReason,
        consecutive_failures: state.consecutiveFailures,
        last_error: state.lastError,
        last_error_at: state.lastErrorAt,
        last_body_tick_at: state.lastTickAt,
        records_policy_rejected: state.recordsPolicyRejected,
      }),
  );
}

/** The uploader's state as it was saved. */
export function loadUploaderState(store: MachineStore): UploaderState {
  const row = store.readCloudState("cloud_body_sync_state");
  const saved = readState<UploaderState>(store, KEYS.uploader);
  if (saved !== null && saved.pausedReason === row.paused_reason) return saved;
  // The reason alone was changed: to forget that body sync was on would look like switching it on, which stamps a date.
  const { enabled = false, stampDueAt = null, cursor = null } = saved ?? {};
  return {
    ...createUploaderState({
      pausedReason: row.paused_reason,
      consecutiveFailures: row.consecutive_failures,
      lastError: row.last_error,
      lastErrorAt: row.last_error_at,
      lastTickAt: row.last_body_tick_at,
    }),
    enabled,
    stampDueAt,
    cursor,
    recordsPolicyRejected: row.records_policy_rejected,
  };
}

/** The handshake's state: its poll secret outlives a crash in the database, which its owner alone can read. */
export function createPairingStates(store: MachineStore): StateStore<PairingState> {
  return createSaver<PairingState>(
    () => loadPairingState(store),
    (_, json) => store.saveMachine(KEYS.pairing, json, "cloud_state", {}),
  );
}

/** The handshake's state as it was saved; null where there never was one. */
export function loadPairingState(store: MachineStore): PairingState | null {
  return readState<PairingState>(store, KEYS.pairing);
}
