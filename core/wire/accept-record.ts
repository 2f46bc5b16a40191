import { UUID_REGEX } from "valibot";
import { createTemplate, type FieldType, type NamedField, wireFields } from "../values/record-fields.ts";
import { isStorableText } from "./characters.ts";
import { COST_DIGITS, HEX_ID, HEX_SHA256 } from "./fields.ts";
import { parseInstant } from "./instant.ts";

/** Whether a value is valid. False if the schema must decide. */
type Check = (value: unknown) => boolean;

const isShortText = (value: unknown, maxCharacters: number) =>
  typeof value === "string" && value.length <= maxCharacters && isStorableText(value);
const isText = ({ maxCharacters = 0 }: NamedField): Check => {
  return (value) => isShortText(value, maxCharacters);
};
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const matches = (pattern: RegExp) => (): Check => (value) => typeof value === "string" && pattern.test(value);

/** What the schemas of `metadata-record.ts` accept, or less. */
const CHECKS: Readonly<Record<FieldType, (field: NamedField) => Check>> = {
  uuid: matches(UUID_REGEX),
  instant: () => (value) => typeof value === "string" && parseInstant(value) !== null,
  name: ({ maxCharacters = 0 }) => {
    return (value) => value !== "" && isShortText(value, maxCharacters);
  },
  text: isText,
  path: isText,
  choice: ({ values = [] }) => {
    return (value) => (values as readonly unknown[]).includes(value);
  },
  id: matches(HEX_ID),
  sha256: matches(HEX_SHA256),
  flag: () => (value) => typeof value === "boolean",
  tokens: () => isCount,
  count: () => isCount,
  milliseconds: () => isCount,
  status: () => (value) => isCount(value) && (value as number) >= 100 && (value as number) <= 999,
  cost: matches(COST_DIGITS),
  // Rare, and copied by the schema.
  counts: () => () => false,
};

const FIELDS = wireFields.map((field) => ({
  column: field.column,
  isRequired: field.upload === "required",
  check: CHECKS[field.type](field),
}));

const TEMPLATE = createTemplate(FIELDS.map(({ column }) => column));

/**
 * Returns a valid record as the schema would, in about half of its time. Null if the record may be invalid, or has a value that only
 * the schema can judge.
 */
export function acceptRecord(input: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof input !== "object" || input === null) return null;
  const stated = input as Readonly<Record<string, unknown>>;
  const record: Record<string, unknown> = { ...TEMPLATE };
  for (const { column, isRequired, check } of FIELDS) {
    const value = stated[column] ?? null;
    if (value === null) {
      if (isRequired) return null;
    } else if (check(value)) record[column] = value;
    else return null;
  }
  return record;
}
