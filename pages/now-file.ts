import { type CostSplit, splitJson } from "../core/pricing/cost-split.ts";
import { formatPicoUsd } from "../core/pricing/money.ts";
import { formatInstant } from "../core/wire/instant.ts";
import { type Columns, formatColumns } from "./page-file.ts";
import type { NowAnswer, NowTotal } from "./views/now.ts";

type Minute = NowAnswer["minutes"][number];

const usd = (part: keyof CostSplit) => (minute: Minute) => formatPicoUsd(minute.split[part]);

const MINUTE_COLUMNS: Columns<Minute> = [
  ["at", ({ at }) => formatInstant(at)],
  ["spent_usd", usd("spentPicoUsd")],
  ["plan_usage_usd", usd("planUsagePicoUsd")],
  ["unknown_billing_usd", usd("unknownBillingPicoUsd")],
];

/** Formats the minutes of the last hour as CSV. */
export const nowCsv = ({ minutes }: Pick<NowAnswer, "minutes">): string =>
  formatColumns(MINUTE_COLUMNS, minutes);

const totalJson = ({ requests, split }: NowTotal) => ({ requests, ...splitJson(split) });

/** Converts what the page shows to JSON. `calls_in_flight` is null where they are not known. */
export const nowJson = (
  { today, lastHour, minutes, coverage, calls, limits, latest }: NowAnswer,
  tz: string,
) => ({
  tz,
  today: totalJson(today),
  last_hour: totalJson(lastHour),
  minutes: minutes.map(({ at, split }) => ({ at: formatInstant(at), ...splitJson(split) })),
  coverage: { metered: coverage.metered, seen: coverage.seen, permille: coverage.permille },
  calls_in_flight:
    calls?.map(({ provider, model, client, runningMs }) => ({
      ...{ provider, model, client },
      running_ms: runningMs,
    })) ?? null,
  limits,
  latest: latest.map(({ requestId, requestedAt, project, model, costPicoUsd }) => ({
    ...{ request_id: requestId, requested_at: formatInstant(requestedAt), project, model },
    cost_pico_usd: costPicoUsd?.toString() ?? null,
  })),
});
