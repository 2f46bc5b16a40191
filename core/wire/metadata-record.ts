import * as v from "valibot";
import {
  type FieldType,
  type FieldValue,
  type NamedField,
  type RecordFields,
  type WireField,
  wireFields,
} from "../values/record-fields.ts";
import { acceptRecord } from "./accept-record.ts";
import { cost, count, idHash, instant, integer, maybe, name, sha256Hex, text, uuid } from "./fields.ts";
import { type Parsed, parseWire } from "./parse.ts";

/** Maximum number of counts in `usage_extras`. */
export const MAX_USAGE_EXTRAS = 64;

const counts = v.pipe(
  v.record(name(64), count),
  v.maxEntries(MAX_USAGE_EXTRAS, `must contain at most ${MAX_USAGE_EXTRAS} counts`),
);

const textOf = ({ maxCharacters }: NamedField) =>
  maxCharacters === undefined ? v.string() : text(maxCharacters);

const SCHEMAS = {
  uuid: () => uuid,
  instant: () => instant,
  name: ({ maxCharacters = Number.POSITIVE_INFINITY }) => name(maxCharacters),
  text: textOf,
  path: textOf,
  choice: ({ values = [] }) => v.picklist(values),
  id: () => idHash,
  sha256: () => sha256Hex,
  flag: () => v.boolean(),
  tokens: () => count,
  count: () => count,
  milliseconds: () => count,
  status: () => integer(100, 999),
  cost: () => cost,
  counts: () => counts,
} as const satisfies Readonly<Record<FieldType, (field: NamedField) => v.GenericSchema>>;

/** The schema of a field's value, without null. */
export function schemaOf(field: NamedField): v.GenericSchema {
  return SCHEMAS[field.type](field);
}

type ColumnOf<Name extends WireField> = RecordFields[Name]["column"];

/** The value of a field on the wire, if it is known. */
export type WireValue<Name extends WireField> = RecordFields[Name] extends { readonly type: "choice" }
  ? FieldValue<Name>
  : v.InferOutput<ReturnType<(typeof SCHEMAS)[RecordFields[Name]["type"]]>>;

type WireEntries = {
  readonly [Name in keyof RecordFields as Name extends WireField
    ? ColumnOf<Name>
    : never]: Name extends WireField
    ? RecordFields[Name]["upload"] extends "required"
      ? v.GenericSchema<WireValue<Name>>
      : v.NullishSchema<v.GenericSchema<WireValue<Name>>, null>
    : never;
};

/**
 * One request as a daemon sends it. There is no field for prompts, completions or `error_message_hash`, so they cannot be
 * sent. Only the first four fields are required. Source: docs/specification.md#request-record;
 * docs/specification.md#metadata-batch.
 */
export const metadataRecordSchema = v.object(
  Object.fromEntries(
    wireFields.map((field) => [
      field.column,
      field.upload === "required" ? schemaOf(field) : maybe(schemaOf(field)),
    ]),
  ) as unknown as WireEntries,
);

/** One parsed request record: every field is present, and `null` if the sender did not state it. */
export type MetadataRecord = v.InferOutput<typeof metadataRecordSchema>;

/** Parses one record of a batch. */
export function parseMetadataRecord(input: unknown): Parsed<MetadataRecord> {
  const accepted = acceptRecord(input);
  if (accepted !== null) return { ok: true, value: accepted as MetadataRecord };
  return parseWire(metadataRecordSchema, input);
}
