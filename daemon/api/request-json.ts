import { formatPicoUsd } from "../../core/pricing/money.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { createReader } from "../../core/values/record.ts";
import { createTemplate, type FieldType, recordFields } from "../../core/values/record-fields.ts";
import type { Millis } from "../../core/values/time.ts";
import { type RequestItem, requestItemSchema } from "../../core/wire/loopback-data.ts";

/** Formats an exact cost in pico-USD and in USD. Null means unknown. */
export function moneyJson(picoUsd: bigint | null): { cost_pico_usd: string | null; cost_usd: string | null } {
  return {
    cost_pico_usd: picoUsd === null ? null : picoUsd.toString(),
    cost_usd: picoUsd === null ? null : formatPicoUsd(picoUsd),
  };
}

/** The names whose place in JSON is not that of the table, by the name that they follow. */
const MOVED: Readonly<Record<string, readonly string[]>> = {
  requested_at: ["project"],
  cost_pico_usd: ["cost_usd"],
  api: ["prompt_hash", "prompt_hash_kind"],
};

const movedNames = Object.values(MOVED).flat();
const shownFields = recordFields.filter(({ column }) => column in requestItemSchema.entries);

const TEMPLATE = createTemplate(
  shownFields
    .filter(({ column }) => !movedNames.includes(column))
    .flatMap(({ column }) => [column, ...(MOVED[column] ?? [])]),
);

const JSON_FORMS: Readonly<Partial<Record<FieldType, (value: never) => unknown>>> = {
  instant: (at: Millis) => new Date(at).toISOString(),
  cost: (picoUsd: bigint) => picoUsd.toString(),
};

const properties = shownFields.map((field) => ({
  column: field.column,
  read: createReader(field),
  format: (JSON_FORMS[field.type] ?? null) as ((value: unknown) => unknown) | null,
}));

/** Converts a record to its wire form. */
export function requestJson(record: RequestRecord): RequestItem {
  const item: Record<string, unknown> = { ...TEMPLATE };
  for (const { column, read, format } of properties) {
    const value = read(record);
    item[column] = format === null || value === null ? value : format(value);
  }
  item.cost_usd = record.costPicoUsd === null ? null : formatPicoUsd(record.costPicoUsd);
  item.billing_mode = effectiveBilling(record);
  // Local rows always have the plain hash.
  item.prompt_hash_kind = record.promptHash === null ? null : "plain";
  return item as RequestItem;
}
