import type { Millis } from "../../core/time.ts";
import { type UploadFrom, watermarkOf } from "../../core/uploader/mod.ts";
import type { Store } from "../store/mod.ts";

type WatermarkStore = Pick<Store, "readMeta" | "saveMachine" | "readCloudState">;

/** What `upload_from` said in the configuration when the instant was kept. */
const SAID_KEY = "upload_from_said";

/**
 * Decision: an instant that was written into the file this shortly before body sync is found switched on is the stamp of
 * that switching, so that nothing captured in between is left out.
 */
const FRESH_STAMP_MS = 600_000;

const said = (configured: UploadFrom | null): string =>
  configured === null ? "" : configured.kind === "instant" ? String(configured.at) : configured.kind;

function keep(store: WatermarkStore, configured: UploadFrom | null, at: Millis): void {
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

/** Body sync was switched on at the instant: from then on, whatever the configuration had said before. */
export function stampWatermark(store: WatermarkStore, configured: UploadFrom | null, at: Millis): void {
  const isFresh =
    configured?.kind === "instant" && configured.at <= at && at - configured.at <= FRESH_STAMP_MS;
  keep(store, configured, isFresh ? configured.at : at);
}
