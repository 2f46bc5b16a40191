import {
  type Banner,
  type BannerFacts,
  type BannerReason,
  statusBanner,
} from "../../core/delivery/banner/status-banner.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import { describePause } from "./describe-pause.ts";
import type { CloudSnapshot } from "./results.ts";

/** The facts that the banner depends on besides the snapshot. */
export type BannerContext = Pick<BannerFacts, "captureFailing" | "runningSince">;

const SENTENCES: Readonly<
  Record<Exclude<BannerReason, "sync_paused" | "uploader_paused" | "failures">, string>
> = {
  not_enabled: "Nothing is sent to a cloud. To connect: meter cloud connect",
  never_paired: "This machine is not paired. To connect: meter cloud connect",
  daemon_stopped: "The daemon is not running, so nothing is sent. Start it: meter start",
  tick_stale: "The sync worker has not checked for new requests recently.",
  worker_degraded: "The sync worker keeps failing. It is restarted every five minutes.",
  uploader_stale: "The body uploader has not checked for new bodies recently.",
  capture_failing: "Records can't be stored.",
};

/** Returns the banner of a snapshot, with its reasons and a sentence for people. */
export function describeBanner(
  snapshot: CloudSnapshot,
  context: BannerContext,
  now: Millis,
): { readonly banner: Banner; readonly reasons: readonly BannerReason[]; readonly sentence: string } {
  const { enabled, paired, sync, bodies, workers } = snapshot;
  const degraded = ["degraded", "retrying"];
  const found = statusBanner(
    {
      enabled,
      paired,
      pausedReason: sync.pausedReason,
      consecutiveFailures: sync.consecutiveFailures,
      lastTickAt: sync.lastTickAt,
      workerDegraded:
        workers !== null && (degraded.includes(workers.sync) || degraded.includes(workers.bodies)),
      bodiesEnabled: bodies.enabled,
      bodiesPausedReason: bodies.pausedReason,
      lastBodyTickAt: bodies.lastTickAt,
      ...context,
    },
    now,
  );
  return { ...found, sentence: describe(found.reasons[0], snapshot) };
}

function describe(reason: BannerReason | undefined, snapshot: CloudSnapshot): string {
  const { workspaceName, sync, bodies } = snapshot;
  switch (reason) {
    case undefined: {
      const waiting = formatQuantity(sync.pending, "request waits", "requests wait");
      return `Connected to ${workspaceName ?? "the cloud"}; ${waiting} to be sent.`;
    }
    case "failures":
      return `Sending failed and will be retried. Last error: ${sync.lastError ?? "unknown"}`;
    case "sync_paused":
      return describePause(sync.pausedReason ?? "", sync.pausedCode);
    case "uploader_paused":
      return `Bodies are not sent. ${describePause(bodies.pausedReason ?? "", bodies.pausedCode)}`;
    default:
      return SENTENCES[reason];
  }
}
