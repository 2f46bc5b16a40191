import * as v from "valibot";
import { calendarDate, maybe } from "./fields.ts";
import { deliveredTotalsSchema } from "./usage-totals.ts";

/**
 * The response of `GET /v1/reconciliation/daemon-totals?from_date&to_date` for the key's machine. Both dates are inclusive
 * and in UTC. `models` is `null` if an older cloud does not send it. Source: docs/specification.md#reading.
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

/** The totals that the cloud stores for one machine. */
export type DaemonTotals = v.InferOutput<typeof daemonTotalsSchema>;
