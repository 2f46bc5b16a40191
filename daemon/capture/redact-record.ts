import type { Redact } from "../../core/privacy/redaction/redact.ts";
import { createCleanTexts, redactWholeText } from "../../core/privacy/redaction/whole-text.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { type FieldsWith, recordFields } from "../../core/values/record-fields.ts";

/** The ids that clients state. One that contains a secret is unknown: without it, nothing identifies the session. */
const ID_FIELDS: ReadonlySet<string> = new Set(
  recordFields.flatMap(({ type, name }) => (type === "id" ? [name] : [])),
);

/** The fields whose text comes from a client, a provider or a folder name. */
const FREE_TEXT_FIELDS = recordFields
  .filter(({ freeText }) => freeText === true)
  .map(({ name }) => name as FieldsWith<{ readonly freeText: true }>);

/** Redacts secrets in the names of a record, such as a key in a path or in place of a model. */
export type RedactRecord = (record: RequestRecord) => RequestRecord;

/** The most texts that are known to contain no secret, and the longest of them in UTF-16 code units. */
const MAX_CLEAN_TEXTS = 1_000;
const MAX_CLEAN_LENGTH = 256;

/** The fields whose texts are not shared: each response and each turn has its own. */
const UNSHARED_FIELDS: ReadonlySet<string> = new Set(["providerResponseId", "turnId"]);

/** A service tier is one word. */
const SERVICE_TIER = /^[\w.:-]{1,64}$/;

/**
 * Creates the redaction of records. Decision: the rules for bodies apply here too, and a service tier that is not one word is
 * removed. The names that calls share, such as models and paths, are searched once.
 */
export function createRecordRedaction(redact: Redact): RedactRecord {
  const clean = createCleanTexts(MAX_CLEAN_TEXTS, MAX_CLEAN_LENGTH);
  // If the search fails, the name is lost, but not the record.
  const redactText = (text: string) => {
    try {
      return redactWholeText(redact, text);
    } catch {
      return { ok: false } as const;
    }
  };
  const addClean = (record: RequestRecord): void => {
    for (const name of FREE_TEXT_FIELDS) {
      const text = record[name];
      if (text !== null && !UNSHARED_FIELDS.has(name)) clean.add(text);
    }
  };
  return (record) => {
    const { serviceTier } = record;
    const checked =
      serviceTier === null || SERVICE_TIER.test(serviceTier) ? record : { ...record, serviceTier: null };
    let unsearched = "";
    for (const name of FREE_TEXT_FIELDS) {
      const text = checked[name];
      if (text !== null && !clean.has(text)) unsearched += `${text}\n`;
    }
    if (unsearched === "") return checked;
    // Almost no record contains a secret, so all texts are searched at once first.
    const combined = redactText(unsearched);
    if (combined.ok && combined.summary.length === 0) {
      addClean(checked);
      return checked;
    }
    const names = FREE_TEXT_FIELDS.map((name) => {
      const text = checked[name];
      if (text === null) return [name, null];
      const redacted = redactText(text);
      if (ID_FIELDS.has(name) && !(redacted.ok && redacted.summary.length === 0)) return [name, null];
      return [name, redacted.ok ? redacted.text : "[redacted]"];
    });
    return { ...checked, ...Object.fromEntries(names) };
  };
}
