import { toMinorUnits } from "../../pricing/money.ts";
import type { RequestRecord } from "../../values/record.ts";
import { createReader } from "../../values/record.ts";
import {
  createTemplate,
  type FieldsWith,
  type FieldType,
  type FieldValues,
  type NamedField,
  type RecordField,
  type RecordFields,
  wireFields,
} from "../../values/record-fields.ts";
import { toStorableText } from "../../wire/characters.ts";
import { MAX_COST_DIGITS } from "../../wire/fields.ts";
import { formatInstant } from "../../wire/instant.ts";
import { MAX_USAGE_EXTRAS, type MetadataRecord } from "../../wire/metadata-record.ts";
import type { IdHash } from "./id-hash.ts";
import { type PromptHashForm, toPromptHashFields } from "./prompt-hash.ts";
import { isFieldSent, isLocalOnly, type UploadPolicy } from "./upload-policy.ts";

/** The record to send, or why it is not sent. */
export type OutgoingRecord =
  | { readonly kind: "send"; readonly record: MetadataRecord }
  /** Its project is local-only. The record is stamped as skipped and never sent later. */
  | { readonly kind: "local_only" };

/** A local record. A row from an older or newer version may hold another error class. */
export type LocalRecord = Omit<RequestRecord, "errorClass"> & { readonly errorClass: string | null };

/**
 * Returns the record that leaves the machine under a policy. Fields that are not sent are `null`. The result always fits the
 * cloud's schema: texts are cut, numbers are rounded to integers, and a value that the wire cannot represent becomes `null`.
 * Ids of sessions and agents are hashed; without a hash function they are not sent.
 */
export function toOutgoingRecord(
  local: LocalRecord,
  policy: UploadPolicy,
  promptHash: PromptHashForm = { kind: "plain" },
  hashId: IdHash | null = null,
): OutgoingRecord {
  if (isLocalOnly(local.project, policy)) return { kind: "local_only" };
  const made = makeForUpload(local, promptHash);
  const record: Record<string, unknown> = { ...TEMPLATE };
  for (const { column, convert } of listSent(policy)) {
    record[column] = convert === null ? made[column as MadeColumn] : convert(local, hashId);
  }
  return { kind: "send", record: record as MetadataRecord };
}

/** The fields that are derived when a record is sent, and the prompt hash, whose form depends on the connection. */
type MadeColumn = RecordFields[FieldsWith<{ readonly madeForUpload: true }>]["column"] | "prompt_hash";

function makeForUpload(local: LocalRecord, form: PromptHashForm): Pick<MetadataRecord, MadeColumn> {
  const cost = toCost(local.costPicoUsd);
  return {
    cost_usd_minor_units: cost === null ? null : Number(toMinorUnits(cost)),
    ...toPromptHashFields(toSha256Hex(local.promptHash), form),
  };
}

/** The conversion of each type of value for sending. */
const CONVERSIONS: {
  readonly [Type in FieldType]: (
    value: FieldValues[Type],
    field: NamedField,
    hashId: IdHash | null,
  ) => unknown;
} = {
  uuid: (id) => id,
  instant: formatInstant,
  name: (name, field) => (name === "" ? "unknown" : toText(name, field)),
  text: toText,
  path: (path, field) => toText(withoutQuery(path), field),
  choice: toChoice,
  id: (id, _field, hashId) => hashId?.(id) ?? null,
  sha256: toSha256Hex,
  flag: (flag) => flag,
  tokens: toCount,
  count: toCount,
  milliseconds: toCount,
  status: toStatus,
  cost: (cost) => toCost(cost)?.toString() ?? null,
  counts: toCounts,
};

const TEMPLATE = createTemplate(wireFields.map(({ column }) => column));

/** Each field of the wire, with its conversion from a local record; null if `makeForUpload()` makes it. */
const OUTGOING_FIELDS = wireFields.map((field) => {
  const isMade = field.madeForUpload === true || field.name === "promptHash";
  return { column: field.column, convert: isMade ? null : createConversion(field) };
});

/** The fields that each policy sends, cached because a sync uses the same policy for every record. */
const sentByPolicy = new WeakMap<UploadPolicy, typeof OUTGOING_FIELDS>();

function listSent(policy: UploadPolicy): typeof OUTGOING_FIELDS {
  const known = sentByPolicy.get(policy);
  if (known !== undefined) return known;
  const sent = OUTGOING_FIELDS.filter(({ column }) => isFieldSent(column, policy));
  sentByPolicy.set(policy, sent);
  return sent;
}

function createConversion(field: NamedField): (local: LocalRecord, hashId: IdHash | null) => unknown {
  const convert = CONVERSIONS[field.type] as (
    value: unknown,
    field: NamedField,
    hashId: IdHash | null,
  ) => unknown;
  const read = createReader(field);
  return (local, hashId) => {
    const value = read(local);
    return value === null ? null : convert(value, field, hashId);
  };
}

function toChoice(value: string, { values = [], otherwise = null }: RecordField): string | null {
  return values.includes(value) ? value : otherwise;
}

function toText(text: string, { maxCharacters = Number.POSITIVE_INFINITY }: RecordField): string {
  return toStorableText(text, maxCharacters);
}

function toSha256Hex(hash: string | null): string | null {
  return hash !== null && /^[0-9a-f]{64}$/.test(hash) ? hash : null;
}

function toCount(value: number): number | null {
  const rounded = Math.round(value);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded + 0 : null;
}

function toStatus(status: number): number | null {
  const whole = toCount(status);
  return whole !== null && whole >= 100 && whole <= 999 ? whole : null;
}

function toCost(picoUsd: bigint | null): bigint | null {
  return picoUsd !== null && picoUsd >= 0n && picoUsd < 10n ** BigInt(MAX_COST_DIGITS) ? picoUsd : null;
}

function toCounts(extras: Readonly<Record<string, number>>): Record<string, number> | null {
  const counts = Object.entries(extras).flatMap(([name, value]) => {
    const whole = toCount(value);
    return whole === null || !/^[a-z][a-z0-9_]{0,63}$/.test(name) ? [] : [[name, whole] as const];
  });
  return counts.length === 0 ? null : Object.fromEntries(counts.slice(0, MAX_USAGE_EXTRAS));
}

/** Removes the query. Paths are stored without it; this second check is cheap, and a query could contain a key. */
function withoutQuery(path: string): string {
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
