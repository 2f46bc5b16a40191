import type { RejectedRecord } from "../../ports/sync-store.ts";
import { describeResult } from "../retry/cloud-result.ts";
import type { BatchResult } from "./sync-events.ts";

/** What a result means for the batch in flight. */
export type BatchVerdict =
  /** Every record has an outcome. `delivered` holds those that were accepted or duplicates: the cloud has them. */
  | {
      readonly kind: "settled";
      readonly delivered: readonly string[];
      readonly rejected: readonly RejectedRecord[];
      readonly accepted: number;
      readonly duplicates: number;
    }
  /** 400, 413 or 422: the cloud refused the whole batch. A smaller one may be accepted. */
  | { readonly kind: "refused"; readonly httpStatus: number; readonly error: string }
  | { readonly kind: "unauthorised" | "forbidden"; readonly error: string; readonly code: string | null }
  | { readonly kind: "transient"; readonly error: string };

/**
 * Decides what a result means for a batch. Source: docs/specification.md#metadata-sync and docs/specification.md#metadata-batch.
 * Only 401 and 403 pause. A 200 counts only if it has exactly one outcome for each record that was sent; otherwise it is
 * transient, so that no record is marked as synced without confirmation.
 */
export function decideBatch(result: BatchResult, requestIds: readonly string[]): BatchVerdict {
  const error = describeResult(result);
  if (result.kind === "transport") return { kind: "transient", error };
  switch (result.status) {
    case 200: {
      const { outcomes } = result;
      if (outcomes === null) return { kind: "transient", error: `${error} without outcomes` };
      const named = new Set([...outcomes.rejected.map((one) => one.requestId), ...outcomes.skipped]);
      const delivered = requestIds.filter((id) => !named.has(id));
      const counted = outcomes.accepted + outcomes.duplicates;
      // Equal only if each id belongs to this batch and is named once.
      const unnamed = requestIds.length - outcomes.rejected.length - outcomes.skipped.length;
      if (counted !== unnamed || delivered.length !== unnamed) {
        return { kind: "transient", error: `${error} with outcomes that do not match the batch` };
      }
      return {
        kind: "settled",
        delivered,
        rejected: outcomes.rejected,
        accepted: outcomes.accepted,
        duplicates: outcomes.duplicates,
      };
    }
    case 400:
    case 413:
    case 422:
      return { kind: "refused", httpStatus: result.status, error };
    case 401:
      return { kind: "unauthorised", error, code: result.code ?? null };
    case 403:
      return { kind: "forbidden", error, code: result.code ?? null };
    default:
      return { kind: "transient", error };
  }
}
