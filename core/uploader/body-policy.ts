import type { Millis } from "../time.ts";

/** What the configuration says of bodies, read anew at every page that is selected. */
export interface BodyPolicy {
  /** `[cloud.bodies] per_project`, and `false` for each project that is local-only. Keys are normalised slugs. */
  readonly perProject: Readonly<Record<string, boolean>>;
  /** From `watermarkOf`; `null` means no filter. */
  readonly uploadFrom: Millis | null;
  /** `[cloud.bodies] max_body_bytes_per_upload`, before it is clamped. */
  readonly maxBodyBytes: number;
  /** `[cloud.bodies] sync_interval_seconds`, in milliseconds. */
  readonly intervalMs: number;
}

/** One leg that waits for its upload; its metadata is synced. */
export interface BodyRef {
  readonly requestId: string;
  readonly direction: "request" | "response";
  readonly project: string;
  readonly capturedAt: Millis;
  /** Stored bytes, UTF-8. */
  readonly sizeBytes: number;
  /** Where it stands in the store's order; opaque, comes back as `after`. */
  readonly position: string;
}

/** Whether the leg may be sent. A leg that may not stays as it is, and the cursor moves on. */
export function mayUpload(leg: BodyRef, policy: BodyPolicy): boolean {
  const { perProject, uploadFrom } = policy;
  if (Object.hasOwn(perProject, leg.project) && perProject[leg.project] === false) return false;
  return uploadFrom === null || leg.capturedAt >= uploadFrom;
}
