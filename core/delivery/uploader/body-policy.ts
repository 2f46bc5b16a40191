import type { BodyRef } from "../../ports/sync-store.ts";
import type { Millis } from "../../values/time.ts";

/** The configuration of body upload, read again for every page of bodies. */
export interface BodyPolicy {
  /** `[cloud.bodies] per_project`, and `false` for each project that is local-only. Keys are normalised slugs. */
  readonly perProject: Readonly<Record<string, boolean>>;
  /** From `resolveUploadFrom`; `null` means no filter. */
  readonly uploadFrom: Millis | null;
  /** `[cloud.bodies] max_body_bytes_per_upload`, before it is clamped. */
  readonly maxBodyBytes: number;
  /** `[cloud.bodies] sync_interval_seconds`, in milliseconds. */
  readonly intervalMs: number;
}

/** Whether a body may be sent. One that may not stays pending, and the cursor moves past it. */
export function mayUpload(body: BodyRef, policy: BodyPolicy): boolean {
  const { perProject, uploadFrom } = policy;
  if (Object.hasOwn(perProject, body.project) && perProject[body.project] === false) return false;
  return uploadFrom === null || body.capturedAt >= uploadFrom;
}
