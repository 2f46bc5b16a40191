import { type Banner, type BannerFacts, type BannerReason, statusBanner } from "../../core/banner/mod.ts";
import type { Millis } from "../../core/time.ts";
import type { CloudSnapshot } from "./results.ts";

/** What the banner needs to know beside the snapshot. */
export type BannerSurroundings = Pick<BannerFacts, "captureFailing" | "runningSince">;

const SENTENCES: Readonly<Record<BannerReason, string>> = {
  not_enabled: "Nothing leaves this machine. To connect: meter cloud connect",
  never_paired: "This machine is not paired. To connect: meter cloud connect",
  sync_paused: "Nothing is sent. To go on: meter cloud resume",
  failures: "Several tries in a row have failed; they go on.",
  tick_stale: "The worker has not looked for new requests for a while.",
  worker_degraded: "The worker keeps ending; it is tried again every five minutes.",
  uploader_paused: "Bodies are not sent. To go on: meter cloud resume",
  uploader_stale: "The body uploader has not looked for new bodies for a while.",
  capture_failing: "What is captured can't be stored.",
};

/** The banner of a snapshot, with its reasons and a sentence for people. */
export function bannerOf(
  { enabled, paired, sync, bodies, workers, workspaceName }: CloudSnapshot,
  surroundings: BannerSurroundings,
  now: Millis,
): { readonly banner: Banner; readonly reasons: readonly BannerReason[]; readonly sentence: string } {
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
      ...surroundings,
    },
    now,
  );
  const [reason] = found.reasons;
  const active = `Connected to ${workspaceName ?? "the cloud"}; ${sync.pending} requests wait to be sent.`;
  return { ...found, sentence: reason === undefined ? active : SENTENCES[reason] };
}
