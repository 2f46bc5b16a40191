import * as v from "valibot";
import {
  type FieldsWith,
  type NamedField,
  type RecordFields,
  recordFields,
  type ValueOrNull,
} from "../values/record-fields.ts";
import { cost, costSum, count, instant, maybe, name } from "./fields.ts";
import { metadataRecordSchema, schemaOf } from "./metadata-record.ts";

const { cost_usd_minor_units: _minorUnits, ...wireEntries } = metadataRecordSchema.entries;

/** An amount in USD as an exact decimal string. */
const usd = v.pipe(v.string(), v.regex(/^-?\d+(?:\.\d{1,12})?$/, "must be a decimal number"));

/** The fields that never leave this machine, except those that JSON omits. */
type LocalJsonField = Exclude<
  FieldsWith<{ readonly upload: "never" }>,
  FieldsWith<{ readonly hidden: true }>
>;

/** The same fields with what the table says about them. */
const localJsonFields = recordFields.filter(
  (field): field is NamedField<LocalJsonField> => field.upload === "never" && field.hidden !== true,
);

type LocalEntries = {
  readonly [Name in keyof RecordFields as Name extends LocalJsonField
    ? RecordFields[Name]["column"]
    : never]: v.GenericSchema<ValueOrNull<Name>>;
};

const localEntries = Object.fromEntries(
  localJsonFields.map((field) => [
    field.column,
    field.nullable === true ? maybe(schemaOf(field)) : schemaOf(field),
  ]),
) as unknown as LocalEntries;

type IdField = FieldsWith<{ readonly type: "id" }>;

/** The ids that clients state. On this machine they are as stated; only what is sent is hashed. */
const idEntries = Object.fromEntries(
  recordFields.flatMap(({ type, column }) => (type === "id" ? [[column, maybe(v.string())]] : [])),
) as unknown as {
  readonly [Name in IdField as RecordFields[Name]["column"]]: v.GenericSchema<string | null>;
};

/** A request in `GET /v1/requests` and `GET /v1/events`: the wire record plus the fields that never leave this machine. */
export const requestItemSchema = v.object({
  ...wireEntries,
  ...idEntries,
  cost_usd: v.nullable(usd),
  ...localEntries,
});

/** One metered request, for programs on this machine. */
export type RequestItem = v.InferOutput<typeof requestItemSchema>;

/** The response of `GET /v1/requests`. */
export const requestListSchema = v.object({
  items: v.array(requestItemSchema),
  next_cursor: v.nullable(v.string()),
});

/** The totals of a group of requests. A count is null if no provider stated it. */
const totals = {
  requests: count,
  failed_requests: count,
  /** Calls that a budget refused. They are in `requests`, and did not fail. Absent from answers of older versions. */
  blocked_requests: maybe(count),
  /** Requests without a known rate. Their cost is not included. */
  unpriced_requests: count,
  /** Requests whose usage the provider did not state in full. */
  incomplete_requests: count,
  prompt_tokens: v.nullable(count),
  completion_tokens: v.nullable(count),
  cache_read_tokens: v.nullable(count),
  cache_write_tokens: v.nullable(count),
  /** Included in `cache_write_tokens`. */
  cache_write_1h_tokens: v.nullable(count),
  thinking_tokens: v.nullable(count),
  /** The cost of all requests with any billing. The next three add up to it. */
  cost_pico_usd: costSum,
  cost_usd: usd,
  /** The part that was billed by usage. */
  spent_pico_usd: costSum,
  /** The part covered by plans, at API prices. Never part of what was spent. */
  plan_usage_pico_usd: costSum,
  /** The part with unknown billing. */
  unknown_billing_pico_usd: costSum,
};

/** The totals of a period, or of one group in it. */
const statisticsTotalsSchema = v.object(totals);

/** The totals of a period, or of one group in it. */
export type StatisticsTotals = v.InferOutput<typeof statisticsTotalsSchema>;

const projectLine = v.object({ project: name(64), last_requested_at: instant, ...totals });

/** How much of the traffic to provider hosts was metered, and what was missed by kind. */
const coverage = v.object({
  metered: count,
  seen: count,
  /** The metered share in tenths of a percent, rounded down; null if nothing was seen. */
  permille: v.nullable(count),
  without_usage: count,
  /** Parts of metered calls that were dropped to bound memory. Older daemons do not send this field. */
  not_kept: v.optional(v.array(v.object({ kind: v.string(), count }))),
  missing: v.array(v.object({ kind: v.string(), count })),
});

/** The half-open period of a response. */
const period = { from: instant, to: instant, days_in: v.picklist(["local", "utc"]) };

/** The response of `GET /v1/stats?from&to&days`. Days without requests are omitted; groups are sorted by cost, highest first. */
export const statisticsSchema = v.object({
  ...period,
  totals: statisticsTotalsSchema,
  days: v.array(v.object({ date: v.string(), ...totals })),
  projects: v.array(projectLine),
  models: v.array(v.object({ provider: v.string(), model: v.string(), ...totals })),
  coverage,
});

/** The response of `GET /v1/projects?from&to&days`. */
export const projectListSchema = v.object({
  ...period,
  items: v.array(v.object({ ...projectLine.entries, body_capture: v.nullable(v.boolean()) })),
});

/** The response of `GET /v1/requests/{id}`: a request, and its cost computed step by step from the current rates. */
export const requestExplanationSchema = v.object({
  request: requestItemSchema,
  /** Whether the current rates give the stored cost. */
  agrees: v.boolean(),
  /** A description of the rate that applied. */
  rate: v.nullable(v.string()),
  lines: v.array(
    v.object({
      label: v.string(),
      quantity: count,
      /** The quantity that one unit consists of. */
      per_unit: count,
      /** Pico-USD per unit, before and after price factors. */
      list_rate_pico_usd: cost,
      rate_pico_usd: cost,
      cost_pico_usd: cost,
    }),
  ),
  computed_pico_usd: v.nullable(cost),
  unpriced_reason: v.nullable(v.string()),
});
