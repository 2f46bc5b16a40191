import type { Millis } from "../../core/time.ts";
import { type UploadFrom, watermarkOf } from "../../core/uploader/mod.ts";
import type { Store } from "../store/mod.ts";
import { loadUploaderState } from "./machine-states.ts";

type WatermarkStore = Pick<Store, "readMeta" | "saveMachine" | "readCloudState">;

/** What `upload_from` said in the configuration when the instant was kept. */
const SAID_KEY = "upload_from_said";

/** What a command wrote into the configuration for a switching to come, and the switching it was used for. */
const COMMANDED_KEY = "upload_from_commanded";

interface CommandedStamp {
  /** Null: no filter. */
  stamp: Millis | null;
  usedFor: Millis | null;
}

const said = (configured: UploadFrom | null): string =>
  configured === null ? "" : configured.kind === "instant" ? String(configured.at) : configured.kind;

function keep(store: WatermarkStore, configured: UploadFrom | null, at: Millis | null): void {
  store.saveMachine(SAID_KEY, said(configured), "cloud_body_sync_state", { upload_from: at });
}

/**
 * The watermark in force; null for no filter. The instant that was kept at the last switching holds until the
 * configuration says something else than it did then.
 */
export function readWatermark(store: WatermarkStore, configured: UploadFrom | null): Millis | null {
  const { upload_from: kept } = store.readCloudState("cloud_body_sync_state");
  if (kept !== null && store.readMeta(SAID_KEY) === said(configured)) return kept;
  return configured === null || configured.kind === "now" ? kept : watermarkOf(configured, 0);
}

/** The watermark in force, where a `now` that is read for the first time is resolved and kept. */
export function resolveWatermark(
  store: WatermarkStore,
  configured: UploadFrom | null,
  now: Millis,
): Millis | null {
  const isKept =
    store.readMeta(SAID_KEY) === said(configured) &&
    store.readCloudState("cloud_body_sync_state").upload_from !== null;
  if (configured?.kind === "now" && !isKept) keep(store, configured, now);
  return readWatermark(store, configured);
}

/**
 * A command is about to write this watermark; null for no filter. Where body sync is on in the configuration, or about to
 * be, and the uploader has not seen that yet, it holds for that switching.
 */
export function announceStamp(store: WatermarkStore & Pick<Store, "writeMeta">, stamp: Millis | null): void {
  if (loadUploaderState(store).enabled) return;
  store.writeMeta(COMMANDED_KEY, JSON.stringify({ stamp, usedFor: null } satisfies CommandedStamp));
}

/** A command has written a watermark: it holds from now on, also where the configuration had said the same before. */
export function keepCommanded(store: WatermarkStore, stamp: Millis | null): void {
  keep(store, stamp === null ? { kind: "none" } : { kind: "instant", at: stamp }, stamp);
}

/** What a command has announced, where the configuration says just that. */
function readCommanded(store: Pick<Store, "readMeta">, configured: UploadFrom | null): CommandedStamp | null {
  const kept = store.readMeta(COMMANDED_KEY);
  if (kept === null || configured === null || configured.kind === "now") return null;
  const commanded = JSON.parse(kept) as CommandedStamp;
  return watermarkOf(configured, 0) === commanded.stamp ? commanded : null;
}

/** What holds while body sync is on: `now` where the uploader has still to find that, and to keep the moment. */
export function foreseeWatermark(store: WatermarkStore, configured: UploadFrom | null): UploadFrom {
  const isStillToBeFound = !loadUploaderState(store).enabled;
  if (isStillToBeFound && readCommanded(store, configured)?.usedFor !== null) return { kind: "now" };
  const at = readWatermark(store, configured);
  return at === null ? { kind: "none" } : { kind: "instant", at };
}

/**
 * Body sync was found switched on at the instant: bodies count from then on, whatever the configuration had said before.
 * Where a command switched it on, its own stamp holds, however much later that is found; then the user was told of it.
 * The same switching may be stamped twice.
 */
export function stampWatermark(
  store: WatermarkStore & Pick<Store, "writeMeta">,
  configured: UploadFrom | null,
  at: Millis,
): { readonly wasTold: boolean } {
  const commanded = readCommanded(store, configured);
  const wasTold = commanded !== null && (commanded.usedFor === null || commanded.usedFor === at);
  if (wasTold) store.writeMeta(COMMANDED_KEY, JSON.stringify({ ...commanded, usedFor: at }));
  keep(store, configured, wasTold ? commanded.stamp : at);
  return { wasTold };
}
