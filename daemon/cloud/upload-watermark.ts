import { resolveUploadFrom, type UploadFrom } from "../../core/delivery/uploader/upload-from.ts";
import type { Millis } from "../../core/values/time.ts";
import type { NoteStore } from "../store/port/settings.ts";
import type { Store } from "../store/port/store.ts";
import { readNote } from "../store/read-note.ts";
import { loadUploaderState } from "./machine-states.ts";

type WatermarkStore = Pick<Store, "notes" | "delivery">;

/** The key of the value of `upload_from` in the configuration when the watermark was stored. */
const CONFIGURED_KEY = "upload_from_said";

/** The key of the value of `upload_from` in the configuration when body sync was last off. */
const CONFIGURED_WHILE_OFF_KEY = "upload_from_said_while_off";

/** The key of the watermark that a command wrote for the next switch of body sync, and of the switch that used it. */
const COMMANDED_KEY = "upload_from_commanded";

interface CommandedStamp {
  /** Null: no filter. */
  stamp: Millis | null;
  usedFor: Millis | null;
}

const serialise = (configured: UploadFrom | null): string =>
  configured === null ? "" : configured.kind === "instant" ? String(configured.at) : configured.kind;

function saveWatermark(store: WatermarkStore, configured: UploadFrom | null, at: Millis | null): void {
  store.delivery.saveMachineState(CONFIGURED_KEY, serialise(configured), "cloud_body_sync_state", {
    upload_from: at,
  });
}

/**
 * Reads the watermark in force. Null means no filter. The instant stored at the last switch applies until `upload_from`
 * changes in the configuration.
 */
export function readWatermark(store: WatermarkStore, configured: UploadFrom | null): Millis | null {
  const { upload_from: stored } = store.delivery.readState("cloud_body_sync_state");
  if (stored !== null && store.notes.read(CONFIGURED_KEY) === serialise(configured)) return stored;
  return configured === null || configured.kind === "now" ? stored : resolveUploadFrom(configured, 0);
}

/** Reads the watermark in force. A `now` that is read for the first time is resolved and stored. */
export function resolveWatermark(
  store: WatermarkStore,
  configured: UploadFrom | null,
  now: Millis,
): Millis | null {
  const isStored =
    store.notes.read(CONFIGURED_KEY) === serialise(configured) &&
    store.delivery.readState("cloud_body_sync_state").upload_from !== null;
  if (configured?.kind === "now" && !isStored) saveWatermark(store, configured, now);
  return readWatermark(store, configured);
}

/**
 * Saves the watermark that a command is about to write. Null means no filter. It applies to the next switch of body sync,
 * unless the uploader already runs.
 */
export function saveAnnouncedWatermark(store: WatermarkStore, stamp: Millis | null): void {
  if (loadUploaderState(store).enabled) return;
  store.notes.write(COMMANDED_KEY, JSON.stringify({ stamp, usedFor: null } satisfies CommandedStamp));
}

/** Saves the watermark that a command has written. It applies from now on, even if the configuration had the same value before. */
export function saveCommandedWatermark(store: WatermarkStore, stamp: Millis | null): void {
  saveWatermark(store, stamp === null ? { kind: "none" } : { kind: "instant", at: stamp }, stamp);
}

/** Reads the watermark that a command has announced, if the configuration has the same value. */
function readCommanded(notes: Pick<NoteStore, "read">, configured: UploadFrom | null): CommandedStamp | null {
  const commanded = readNote<CommandedStamp>(notes, COMMANDED_KEY);
  if (commanded === null || configured === null || configured.kind === "now") return null;
  return resolveUploadFrom(configured, 0) === commanded.stamp ? commanded : null;
}

/** Saves the value of `upload_from` while body sync is off. A date that was set before the switch does not apply to it. */
export function saveSettingWhileOff(notes: NoteStore, configured: UploadFrom | null): void {
  const text = serialise(configured);
  if (notes.read(CONFIGURED_WHILE_OFF_KEY) !== text) notes.write(CONFIGURED_WHILE_OFF_KEY, text);
}

/**
 * Reads the watermark that the configuration sets for the switch from off to on. `undefined` means the moment of the switch.
 * Source: docs/specification.md#configuration-keys (a malformed value means no filter) and "Daemon body uploader" (the
 * stamp). Decision: a value that was written in the same edit as `enabled = true` is not overwritten.
 */
function readForSwitch(
  notes: Pick<NoteStore, "read">,
  configured: UploadFrom | null,
): Millis | null | undefined {
  if (configured === null || configured.kind === "now") return undefined;
  if (configured.kind === "malformed") return null;
  return notes.read(CONFIGURED_WHILE_OFF_KEY) === serialise(configured)
    ? undefined
    : resolveUploadFrom(configured, 0);
}

/** Predicts the watermark for when body sync is on: `now` if the uploader has not seen the switch yet. */
export function predictWatermark(store: WatermarkStore, configured: UploadFrom | null): UploadFrom {
  const isSwitchPending = !loadUploaderState(store).enabled;
  if (isSwitchPending && readCommanded(store.notes, configured)?.usedFor !== null) {
    const at = readForSwitch(store.notes, configured);
    return at === undefined ? { kind: "now" } : at === null ? { kind: "none" } : { kind: "instant", at };
  }
  const at = readWatermark(store, configured);
  return at === null ? { kind: "none" } : { kind: "instant", at };
}

/**
 * Stores the watermark for a switch of body sync from off to on: the instant, unless the configuration sets another for this
 * switch. If a command made the switch, the command's watermark applies, however late the switch is noticed, and the user has
 * already been told. Idempotent for the same switch.
 */
export function stampWatermark(
  store: WatermarkStore,
  configured: UploadFrom | null,
  at: Millis,
): { readonly uploadFrom: Millis | null; readonly isAnnounced: boolean } {
  const commanded = readCommanded(store.notes, configured);
  const isAnnounced = commanded !== null && (commanded.usedFor === null || commanded.usedFor === at);
  if (isAnnounced) store.notes.write(COMMANDED_KEY, JSON.stringify({ ...commanded, usedFor: at }));
  const forSwitch = isAnnounced ? commanded.stamp : readForSwitch(store.notes, configured);
  const uploadFrom = forSwitch === undefined ? at : forSwitch;
  saveWatermark(store, configured, uploadFrom);
  return { uploadFrom, isAnnounced };
}
