import {
  FIELD_TYPES,
  type FieldName,
  type RecordFields,
  type WireField,
  wireFields,
} from "../../core/values/record-fields.ts";

/** The columns that the cloud determines itself, by the column that they stand before. */
const OWN_COLUMNS = {
  provider: {
    received_at: "timestamptz",
    clock_skewed: "boolean",
    machine_id: "uuid",
    user_id: "text",
  },
  reported_cost_pico_usd: {
    cost_pico_usd: "numeric",
    cost_source: "text",
    rates_source: "text",
  },
} as const;

type OwnColumns = (typeof OWN_COLUMNS)["provider"] & (typeof OWN_COLUMNS)["reported_cost_pico_usd"];

/** The column in `requests` that stores a field; never if none does. */
export type CloudColumn<Name extends FieldName> = Name extends WireField
  ? RecordFields[Name] extends { readonly cloudColumn: infer Column }
    ? Extract<Column, string>
    : RecordFields[Name]["column"]
  : never;

type StatedColumns = {
  readonly [Name in keyof RecordFields as CloudColumn<Name>]: (typeof FIELD_TYPES)[RecordFields[Name]["type"]]["postgres"];
};

/** A column of `requests` besides the workspace and the seal. */
export type RequestColumn = keyof StatedColumns | keyof OwnColumns;

/** The fields that the cloud stores, each with its name on the wire and its column. */
export const STATED_FIELDS = wireFields.flatMap(({ type, column, cloudColumn = column, ...field }) =>
  cloudColumn === null ? [] : [{ ...field, type, wireName: column, column: cloudColumn as RequestColumn }],
);

/** The columns of `requests` besides the workspace and the seal, with their types. */
export const REQUEST_COLUMNS = Object.fromEntries(
  STATED_FIELDS.flatMap(({ column, type }) => [
    ...Object.entries((OWN_COLUMNS as Readonly<Record<string, object>>)[column] ?? {}),
    [column, FIELD_TYPES[type].postgres],
  ]),
) as StatedColumns & OwnColumns;

/** The columns that the sender states and may leave null, so that the same record sent again may fill them. */
export const FILLABLE_COLUMNS = STATED_FIELDS.filter(({ upload }) => upload !== "required").map(
  ({ column }) => column,
);

/**
 * The columns of a request that describe its author's prompt or machine; the purge erases them with the person's account.
 * Its tokens and costs are the workspace's. None of these may be in SEALED_COLUMNS, or the requests of a purged account no
 * longer verify.
 */
export const PERSONAL_REQUEST_COLUMNS = STATED_FIELDS.filter(({ personal }) => personal === true).map(
  ({ column }) => column,
);
