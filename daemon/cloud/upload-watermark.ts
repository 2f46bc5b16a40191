import type { Millis } from "../../core/time.ts";
import { type UploadFrom, watermarkOf } from "../../core/uploader/mod.ts";
import type { Store } from "../store/mod.ts";

type WatermarkStore = Pick<Store, "readMeta" | "saveMachine" | "readCloudState">;

/** What `upload_from` said in the configuration when the instant was kept. */
const SAID_KEY = "upload_from_said";

/** The stamp that a command wrote into the configuration when it switched body sync on, and the switching it was used for. */
const COMMANDED_KEY = "upload_from_commanded";

interface CommandedStamp {
  stamp: Millis;
  usedFor: Millis | null;
}

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

/** A command is about to switch body sync on, with this stamp in the configuration. */
export function announceStamp(store: Pick<Store, "writeMeta">, stamp: Millis): void {
  store.writeMeta(COMMANDED_KEY, JSON.stringify({ stamp, usedFor: null } satisfies CommandedStamp));
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
  const kept = store.readMeta(COMMANDED_KEY);
  const commanded = kept === null ? null : (JSON.parse(kept) as CommandedStamp);
  const wasTold =
    commanded !== null &&
    configured?.kind === "instant" &&
    configured.at === commanded.stamp &&
    (commanded.usedFor === null || commanded.usedFor === at);
  if (wasTold) store.writeMeta(COMMANDED_KEY, JSON.stringify({ ...commanded, usedFor: at }));
  keep(store, configured, wasTold ? configured.at : at);
  return { wasTold };
}
