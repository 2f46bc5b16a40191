import * as v from "valibot";
import { cost, costSum, count, instant, name } from "./fields.ts";
import { metadataRecordSchema } from "./metadata-record.ts";

const { cost_usd_minor_units: _minorUnits, ...recordFields } = metadataRecordSchema.entries;

/** USD as exact decimal text. */
const usd = v.pipe(v.string(), v.regex(/^-?\d+(?:\.\d{1,12})?$/, "must be a decimal number"));

/** A request at `GET /v1/requests` and `GET /v1/events`: the record as on the wire, and what stays on this machine. */
export const requestItemSchema = v.object({
  ...recordFields,
  cost_usd: v.nullable(usd),
  client: v.nullable(v.string()),
  host: v.string(),
  /** Which reader read it, such as `anthropic.messages`. */
  api: v.string(),
  provider_response_id: v.nullable(v.string()),
});

/** One metered request, for programs on this machine. */
export type RequestItem = v.InferOutput<typeof requestItemSchema>;

/** `GET /v1/requests`. */
export const requestListSchema = v.object({
  items: v.array(requestItemSchema),
  next_cursor: v.nullable(v.string()),
});

/** What a group of requests comes to. A count that no provider stated is null. */
const totals = {
  requests: count,
  failed_requests: count,
  /** Without a known rate: the cost leaves them out. */
  unpriced_requests: count,
  /** Whose usage the provider did not state in full. */
  incomplete_requests: count,
  prompt_tokens: v.nullable(count),
  completion_tokens: v.nullable(count),
  cache_read_tokens: v.nullable(count),
  cache_write_tokens: v.nullable(count),
  /** A part of the one before. */
  cache_write_1h_tokens: v.nullable(count),
  thinking_tokens: v.nullable(count),
  cost_pico_usd: costSum,
  cost_usd: usd,
};

/** The sums of a period or of a group in it. */
export const statisticsTotalsSchema = v.object(totals);

/** The sums of a period or of a group in it. */
export type StatisticsTotals = v.InferOutput<typeof statisticsTotalsSchema>;

const projectLine = v.object({ project: name(64), last_requested_at: instant, ...totals });

/** What was metered of all that was seen on providers' hosts, by kind of what is missing. */
const coverage = v.object({
  metered: count,
  seen: count,
  /** Metered tenths of a percent, rounded down; null where nothing was seen. */
  permille: v.nullable(count),
  without_usage: count,
  missing: v.array(v.object({ kind: v.string(), count })),
});

/** The half-open period of an answer. */
const period = { from: instant, to: instant, days_in: v.picklist(["local", "utc"]) };

/** `GET /v1/stats?from&to&days`. Days without requests are left out; groups come the costliest first. */
export const statisticsSchema = v.object({
  ...period,
  totals: statisticsTotalsSchema,
  days: v.array(v.object({ date: v.string(), ...totals })),
  projects: v.array(projectLine),
  models: v.array(v.object({ provider: v.string(), model: v.string(), ...totals })),
  coverage,
});

/** `GET /v1/projects?from&to&days`. */
export const projectListSchema = v.object({
  ...period,
  items: v.array(v.object({ ...projectLine.entries, body_capture: v.nullable(v.boolean()) })),
});

/** `GET /v1/requests/{id}`: a request with everything that led to its cost by the rates of today's book. */
export const requestExplanationSchema = v.object({
  request: requestItemSchema,
  /** Whether today's rates give the stored cost. */
  agrees: v.boolean(),
  /** The row that applied, in words. */
  rate: v.nullable(v.string()),
  lines: v.array(
    v.object({
      label: v.string(),
      quantity: count,
      /** How many of the quantity make one unit. */
      per_unit: count,
      /** Pico-USD for one unit, before and after the factors. */
      list_rate_pico_usd: cost,
      rate_pico_usd: cost,
      cost_pico_usd: cost,
    }),
  ),
  computed_pico_usd: v.nullable(cost),
  unpriced_reason: v.nullable(v.string()),
});
