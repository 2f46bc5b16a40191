import type { BodyPolicy } from "../../../core/delivery/uploader/body-policy.ts";
import type { BodyRef } from "../../../core/ports/sync-store.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { BodyDirection } from "./values.ts";

/** The captured bodies of one day. */
export interface BodyDay {
  /** `YYYY-MM-DD`, local time. */
  date: string;
  uploaded: number;
  pending: number;
  /** Not uploaded because of the configuration, or because their request is not. */
  heldBack: number;
}

/** Totals of the bodies that are not uploaded. */
export interface BodyDelivery {
  /** Will be uploaded, once their request is in the cloud. */
  pending: number;
  /** The part of `pending` whose request is in the cloud. */
  uploadable: number;
  /** Not uploaded because of the configuration, or because their request is not. */
  heldBack: number;
  lastUploadAt: Millis | null;
}

/** The part of the upload policy that selects bodies. */
export type BodySelection = Pick<BodyPolicy, "perProject" | "uploadFrom">;

/** Delivery of captured bodies to the cloud. Every write is on the disk when the method returns. */
export interface BodyDeliveryStore {
  /**
   * Returns the next bodies of synced requests that are neither uploaded nor in quarantine, in order of arrival. `after` is
   * the position of the previous one, which need not exist any more. Empty at the end.
   */
  pending(after: string | null, limit: number): BodyRef[];
  /** Marks a body as uploaded, unless it was captured again since. Idempotent: the first stamp stays. */
  markUploaded(
    body: { requestId: string; direction: BodyDirection; capturedAt: Millis | null },
    at: Millis,
  ): void;
  /** Puts a body in quarantine. Idempotent: the first entry stays. Does nothing if the body is gone. */
  quarantine(
    body: { requestId: string; direction: BodyDirection; reason: string; httpStatus: number | null },
    at: Millis,
  ): void;
  /** Returns totals. Bodies in quarantine are not counted. */
  totals(selection: BodySelection): BodyDelivery;
  /** Returns the local days with captured bodies since the instant, in order. Bodies in quarantine are not counted. */
  days(from: Millis, selection: BodySelection): BodyDay[];
}
