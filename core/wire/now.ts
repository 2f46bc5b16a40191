import * as v from "valibot";
import { costSum, count, instant, maybe } from "./fields.ts";

/** Costs by who pays. */
const split = { spent_pico_usd: costSum, plan_usage_pico_usd: costSum, unknown_billing_pico_usd: costSum };

const sums = v.object({ requests: count, ...split });

/**
 * The response of `GET /v1/workspaces/{ws}/now`. It counts what machines have sent. The cloud does not know of calls in flight, or of
 * records that wait on a machine.
 */
export const workspaceNowSchema = v.object({
  /** The time zone of the day. */
  tz: v.string(),
  today: sums,
  last_hour: sums,
  /** The last 60 minutes, by the start of the requests. The current minute is last. */
  minutes: v.array(v.object({ at: instant, requests: count, ...split })),
  /** Today's coverage. `permille` is null if nothing was seen. */
  coverage: v.object({ metered: count, seen: count, permille: maybe(count), unknown_machines: maybe(count) }),
});
export type WorkspaceNow = v.InferOutput<typeof workspaceNowSchema>;
