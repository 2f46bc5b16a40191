import { describeAnswer } from "../retry/mod.ts";
import type { BatchAnswer, RejectedRecord } from "./sync-events.ts";

/** What an answer means for the batch that was in flight. */
export type BatchVerdict =
  /** Every record has its outcome. `taken` is accepted or duplicate: the cloud has it. */
  | {
      readonly kind: "settled";
      readonly taken: readonly string[];
      readonly rejected: readonly RejectedRecord[];
      readonly accepted: number;
      readonly duplicates: number;
    }
  /** 400, 413 or 422: the batch as a whole; a smaller one may pass. */
  | { readonly kind: "refused"; readonly httpStatus: number; readonly error: string }
  | { readonly kind: "unauthorised" | "forbidden" | "transient"; readonly error: string };

/**
 * Source: contract, "Daemon metadata sync", and decisions, "Metadata batch". Only 401 and 403 pause. A 200 counts only
 * where it names one outcome for each record that was sent, and no record that was not; anything less is transient, so
 * that nothing is ever marked without the cloud's word for it.
 */
export function judgeBatch(answer: BatchAnswer, requestIds: readonly string[]): BatchVerdict {
  const error = describeAnswer(answer);
  if (answer.kind === "transport") return { kind: "transient", error };
  switch (answer.status) {
    case 200: {
      const { outcomes } = answer;
      if (outcomes === null) return { kind: "transient", error: `${error} without outcomes` };
      const named = new Set([...outcomes.rejected.map((one) => one.requestId), ...outcomes.skipped]);
      const taken = requestIds.filter((id) => !named.has(id));
      const counted = outcomes.accepted + outcomes.duplicates;
      // Equal only where each name is of this batch and stands there once.
      const unnamed = requestIds.length - outcomes.rejected.length - outcomes.skipped.length;
      if (counted !== unnamed || taken.length !== unnamed) {
        return { kind: "transient", error: `${error} with outcomes that do not match the batch` };
      }
      return {
        kind: "settled",
        taken,
        rejected: outcomes.rejected,
        accepted: outcomes.accepted,
        duplicates: outcomes.duplicates,
      };
    }
    case 400:
    case 413:
    case 422:
      return { kind: "refused", httpStatus: answer.status, error };
    case 401:
      return { kind: "unauthorised", error };
    case 403:
      return { kind: "forbidden", error };
    default:
      return { kind: "transient", error };
  }
}
