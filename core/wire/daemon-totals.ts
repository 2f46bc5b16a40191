import * as v from "valibot";
import { calendarDate, maybe } from "./fields.ts";
import { deliveredTotalsSchema } from "./usage-totals.ts";

/**
 * `GET /v1/reconciliation/daemon-totals?from_date&to_date`, for the key's machine; both dates inclusive, UTC. Source:
 * decisions, "Reading". The models of a day are additive: a cloud that sends none gives `null`.
 */
export const daemonTotalsSchema = v.object({
  from_date: calendarDate,
  to_date: calendarDate,
  days: v.array(
    v.object({
      date: calendarDate,
      ...deliveredTotalsSchema.entries,
      models: maybe(
        v.array(v.object({ provider: v.string(), model: v.string(), ...deliveredTotalsSchema.entries })),
      ),
    }),
  ),
  totals: deliveredTotalsSchema,
});

/** What the cloud has of one machine. */
export type DaemonTotals = v.InferOutput<typeof daemonTotalsSchema>;
