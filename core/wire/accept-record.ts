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

const CHECKS_BY_COLUMN: ReadonlyMap<string, Check> = new Map(
  wireFields.map((field) => [field.column, CHECKS[field.type](field)]),
);

const REQUIRED = wireFields.filter(({ upload }) => upload === "required").map(({ column }) => column);

const TEMPLATE = createTemplate(wireFields.map(({ column }) => column));

/**
 * Returns a valid record as the schema would, in about half of its time. Null if the record may be invalid, or has a value that only
 * the schema can judge.
 */
export function acceptRecord(input: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof input !== "object" || input === null) return null;
  const stated = input as Readonly<Record<string, unknown>>;
  const record: Record<string, unknown> = { ...TEMPLATE };
  // A record states half of the columns, so these are looked up by the names in the record and not the other way round.
  for (const column in stated) {
    const value = stated[column];
    if (value === null || value === undefined) continue;
    const check = CHECKS_BY_COLUMN.get(column);
    if (check === undefined) continue;
    if (!check(value)) return null;
    record[column] = value;
  }
  for (const column of REQUIRED) if (record[column] === null) return null;
  return record;
}
