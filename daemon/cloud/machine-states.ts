import type { PairingState } from "../../core/delivery/pairing/pairing-state.ts";
import { createSyncState, type SyncState } from "../../core/delivery/sync/sync-state.ts";
import { createUploaderState, type UploaderState } from "../../core/delivery/uploader/uploader-state.ts";
import type { StateStore } from "../../core/ports/state-store.ts";
import type { Store } from "../store/port/store.ts";
import { readNote } from "../store/read-note.ts";

type MachineStore = Pick<Store, "notes" | "delivery">;

/** The keys of the state machines' states in `meta`. */
const KEYS = { sync: "sync_machine", uploader: "uploader_machine", pairing: "pairing_machine" } as const;

/** Creates a store that saves a state only if it changed. `run` is not saved: a crash loses it, and most events change only it. */
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
      const withoutRun = { ...state, ...("run" in (state as object) ? { run: null } : {}) };
      const json = JSON.stringify(withoutRun);
      if (json === saved) return;
      write(withoutRun, json);
      saved = json;
    },
  };
}

/** Stores the sync machine's state, and the columns that show it. If `paused_reason` in the table differs, the table applies. */
export function createSyncStates(store: MachineStore): StateStore<SyncState> {
  return createSaver<SyncState>(
    () => loadSyncState(store),
    (state, json) => {
      // `cloud_state` has the reason too (docs/specification.md#local-state-tables). It is written first: after a crash in
      // between, `loadSyncState()` reads the other table.
      store.delivery.saveMachineState(KEYS.sync, json, "cloud_state", { paused_reason: state.pausedReason });
      store.delivery.saveMachineState(KEYS.sync, json, "cloud_sync_state", {
        paused_reason: state.pausedReason,
        consecutive_failures: state.consecutiveFailures,
        last_error: state.lastError,
        last_error_at: state.lastErrorAt,
        last_tick_at: state.lastTickAt,
      });
    },
  );
}

/** Loads the sync machine's saved state. */
export function loadSyncState(store: MachineStore): SyncState {
  const row = store.delivery.readState("cloud_sync_state");
  const saved = readNote<SyncState>(store.notes, KEYS.sync);
  const fromRow = createSyncState({
    pausedReason: row.paused_reason,
    consecutiveFailures: row.consecutive_failures,
    lastError: row.last_error,
    lastErrorAt: row.last_error_at,
    lastTickAt: row.last_tick_at,
  });
  // A state that an older version saved lacks newer fields.
  return saved !== null && saved.pausedReason === row.paused_reason ? { ...fromRow, ...saved } : fromRow;
}

/** Stores the uploader's state, and the columns that show it. */
export function createUploaderStates(store: MachineStore): StateStore<UploaderState> {
  return createSaver<UploaderState>(
    () => loadUploaderState(store),
    (state, json) =>
      store.delivery.saveMachineState(KEYS.uploader, json, "cloud_body_sync_state", {
        paused_reason: state.pausedReason,
        consecutive_failures: state.consecutiveFailures,
        last_error: state.lastError,
        last_error_at: state.lastErrorAt,
        last_body_tick_at: state.lastTickAt,
        records_policy_rejected: state.recordsPolicyRejected,
      }),
  );
}

/** Loads the uploader's saved state. */
export function loadUploaderState(store: MachineStore): UploaderState {
  const row = store.delivery.readState("cloud_body_sync_state");
  const saved = readNote<UploaderState>(store.notes, KEYS.uploader);
  const fromRow = {
    ...createUploaderState({
      pausedReason: row.paused_reason,
      consecutiveFailures: row.consecutive_failures,
      lastError: row.last_error,
      lastErrorAt: row.last_error_at,
      lastTickAt: row.last_body_tick_at,
    }),
    recordsPolicyRejected: row.records_policy_rejected,
  };
  // A state that an older version saved lacks newer fields.
  if (saved !== null && saved.pausedReason === row.paused_reason) return { ...fromRow, ...saved };
  // Only the reason was changed. `enabled` is kept, since a switch from off to on would stamp `upload_from`.
  const { enabled = false, stampDueAt = null, cursor = null } = saved ?? {};
  return { ...fromRow, enabled, stampDueAt, cursor };
}

/** Stores the handshake's state. Its poll token survives a crash in the database, which only its owner can read. */
export function createPairingStates(store: MachineStore): StateStore<PairingState> {
  return createSaver<PairingState>(
    () => loadPairingState(store),
    (_, json) => store.delivery.saveMachineState(KEYS.pairing, json, "cloud_state", {}),
  );
}

/** Loads the handshake's saved state. Returns null if there was no handshake. */
export function loadPairingState(store: MachineStore): PairingState | null {
  return readNote<PairingState>(store.notes, KEYS.pairing);
}
