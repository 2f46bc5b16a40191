import type { Context } from "hono";
import { readDateWindow } from "../../core/retention/mod.ts";
import { daemonTotalsQuerySchema, parseWire } from "../../core/wire/mod.ts";
import { problem } from "../errors.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { orRefusal } from "../read-payload.ts";
import { readDaemonTotals } from "../store/daemon-totals.ts";

/** `GET /v1/reconciliation/daemon-totals?from_date&to_date`: dates alone, both included; not clamped by retention. */
export async function getDaemonTotals(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const query = orRefusal(parseWire(daemonTotalsQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const window = readDateWindow(query.value.from_date, query.value.to_date);
  if (!window.ok) return problem(window.reason);
  return context.json(await readDaemonTotals(parts.db, context.get("key"), window.fromDate, window.toDate));
}
