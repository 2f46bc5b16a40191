import type {
  BILLING_MODES,
  COST_SOURCES,
  ERROR_CLASSES,
  FieldName,
  FieldsWith,
  FieldValue,
  NamedField,
  RATE_SOURCES,
  REQUEST_KINDS,
  RecordFields,
  StoredField,
  ValueOrNull,
} from "./record-fields.ts";

/** The kind of a request. Source: docs/specification.md#metadata-batch. */
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** How a cost was determined. Source: docs/specification.md#money-and-rates. */
export type CostSource = (typeof COST_SOURCES)[number];

/** How a request is billed. Source: docs/specification.md#billing-mode. */
export type BillingMode = (typeof BILLING_MODES)[number];

/** The origin of a rate. Source: docs/specification.md#money-and-rates. */
export type RateSource = (typeof RATE_SOURCES)[number];

/** The class of an error. Source: docs/specification.md#error-classification. */
export type ErrorClass = (typeof ERROR_CLASSES)[number];

type TokenField = FieldsWith<{ readonly type: "tokens" }>;
type OptionalField = FieldsWith<{ readonly optional: true }>;

/**
 * The five disjoint token counts. No token is counted in two fields, except that `cacheWrite1hTokens` is a part of
 * `cacheWriteTokens`. `null` means that the provider did not state the count, never 0.
 * Source: docs/specification.md#money-and-rates.
 */
export type TokenCounts = {
  -readonly [Name in keyof RecordFields as Name extends TokenField ? Name : never]: ValueOrNull<Name>;
};

type RequiredValues = {
  -readonly [Name in keyof RecordFields as Name extends Exclude<StoredField, TokenField | OptionalField>
    ? Name
    : never]: ValueOrNull<Name>;
};

type OptionalValues = {
  -readonly [Name in keyof RecordFields as Name extends OptionalField ? Name : never]?: FieldValue<Name>;
};

/**
 * One metered request, stored by the daemon as one row. Its properties are the fields of `RECORD_FIELDS`, which describes
 * each. Times are UTC; costs are integers in pico-USD (10^-12 USD).
 */
export interface RequestRecord extends RequiredValues, OptionalValues {
  tokens: TokenCounts;
}

/** Returns a function that reads the field's value from a record: null if it is unknown or absent. */
export function createReader({ name, type }: NamedField): (record: { tokens: TokenCounts }) => unknown {
  if (type === "tokens") return ({ tokens }) => tokens[name as keyof TokenCounts];
  if (name === "latencyMs") return readLatency;
  return (record) => (record as { readonly [Name in FieldName]?: unknown })[name] ?? null;
}

/** A log does not state how long a call took. The column is not nullable, so the record has 0. */
function readLatency(record: object): number | null {
  const { latencyMs = null, recordSource } = record as { latencyMs?: number; recordSource?: string | null };
  return recordSource === "logs" ? null : latencyMs;
}
