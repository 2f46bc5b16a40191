/**
 * The daemon's side of the cloud: pairing, the metadata worker, the body uploader, the pull of rates, and what a person
 * asks of them. The machines of the core decide; here is what carries them out.
 *
 * ```ts
 * import type { CloudService } from "./mod.ts";
 *
 * export async function show(service: CloudService): Promise<string> {
 *   const { paired, sync } = await service.state();
 *   return paired ? `${sync.pending} requests wait` : "not connected";
 * }
 * ```
 *
 * @module
 */
export { type BannerSurroundings, bannerOf } from "./cloud-banner.ts";
export type { CloudService } from "./cloud-service.ts";
export { createCloudService } from "./create-cloud-service.ts";
export type { CloudServicePorts, CloudSettings } from "./ports.ts";
export type {
  CloudSnapshot,
  ConnectOptions,
  ConnectResult,
  DisconnectResult,
  PauseResult,
  ReconcileResult,
  RefreshRatesResult,
  ResumeReport,
  SyncNowResult,
  SyncReport,
  WhoamiResult,
} from "./results.ts";
export { readWatermark } from "./upload-watermark.ts";
