import {
  type CreditedCall,
  divideWindow,
  type WindowShares,
} from "../../core/metering/limits/limit-shares.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoredLimit } from "../store/port/limits.ts";
import type { Store } from "../store/port/store.ts";
import type { Turn } from "../store/port/values.ts";

/** What the use of a window can be divided by. */
export const SHARE_GROUPS = ["project", "session", "agent"] as const;
export type ShareGroup = (typeof SHARE_GROUPS)[number];

/** The shares of a window. */
export interface DividedWindow extends WindowShares {
  /** Whether the window has more calls than are read, so that the oldest are missing. */
  readonly isPartial: boolean;
}

/** How many calls of a window are read at most, and in one step. */
const MAX_CALLS = 20_000;
const PAGE_CALLS = 500;

/** The period whose calls are read for a window without a length, in milliseconds. */
const DEFAULT_WINDOW_MS = 7 * 86_400_000;

/** Divides the use of a window among the calls of this installation: see `divideWindow()`. */
export async function readShares(
  { limits, records }: Pick<Store, "limits" | "records">,
  limit: StoredLimit,
  by: ShareGroup,
  turn: Turn,
): Promise<DividedWindow> {
  const from = (limit.resetAt ?? limit.seenAt) - (limit.windowMs ?? DEFAULT_WINDOW_MS);
  const calls: CreditedCall[] = [];
  let beforeSeq: number | null = null;
  let left = MAX_CALLS;
  do {
    const page = await records.list(
      { provider: limit.provider, from, to: null, beforeSeq, limit: PAGE_CALLS },
      turn,
    );
    for (const record of page.requests) if (countsFor(record, limit)) calls.push(toCall(record, by));
    beforeSeq = page.nextBeforeSeq;
    left -= page.requests.length;
  } while (beforeSeq !== null && left > 0);
  calls.sort((one, other) => one.endedAt - other.endedAt);
  return { ...divideWindow(limits.history(limit.id, from), calls, limit), isPartial: beforeSeq !== null };
}

/** Whether a call may count for a window: those of an API key do not use a plan. */
function countsFor(record: RequestRecord, { unit }: StoredLimit): boolean {
  const billing = effectiveBilling(record);
  return unit === "share" ? billing !== "metered" && billing !== "free" : true;
}

function toCall(record: RequestRecord, by: ShareGroup): CreditedCall {
  const { requestedAt, latencyMs, model, costPicoUsd, tokens } = record;
  const counts = [
    tokens.promptTokens,
    tokens.cacheReadTokens,
    tokens.cacheWriteTokens,
    tokens.completionTokens,
  ];
  const known = counts.filter((count) => count !== null);
  return {
    key: keyOf(record, by),
    endedAt: (requestedAt + latencyMs) as Millis,
    model,
    costPicoUsd,
    totalTokens: known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0),
  };
}

function keyOf(record: RequestRecord, by: ShareGroup): string {
  if (by === "project") return record.project;
  return (by === "session" ? record.sessionId : record.agentId) ?? "";
}
