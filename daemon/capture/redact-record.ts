import type { Redact } from "../../core/privacy/redaction/redact.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { type FieldsWith, recordFields } from "../../core/values/record-fields.ts";

/** The fields whose text comes from a client, a provider or a folder name. */
const FREE_TEXT_FIELDS = recordFields
  .filter(({ freeText }) => freeText === true)
  .map(({ name }) => name as FieldsWith<{ readonly freeText: true }>);

/**
 * Redacts secrets in the names of a record, such as a key in a path or in place of a model. Decision: the rules for bodies
 * apply here too, and a service tier that is not one word is removed.
 */
export function redactRecord(record: RequestRecord, redact: Redact): RequestRecord {
  const { serviceTier } = record;
  const checked =
    serviceTier === null || /^[\w.:-]{1,64}$/.test(serviceTier) ? record : { ...record, serviceTier: null };
  const texts = FREE_TEXT_FIELDS.map((name) => checked[name] ?? "");
  // If the search fails, the name is lost, but not the record. The space after a text marks it as not truncated.
  const redactText = (text: string) => {
    try {
      return redact(`${text} `);
    } catch {
      return { ok: false } as const;
    }
  };
  const combined = redactText(texts.join("\n"));
  // Almost no record contains a secret, so all texts are searched at once first.
  if (combined.ok && combined.summary.length === 0) return checked;
  const names = FREE_TEXT_FIELDS.map((name) => {
    const text = checked[name];
    if (text === null) return [name, null];
    const redacted = redactText(text);
    return [name, redacted.ok ? redacted.text.slice(0, -1) : "[redacted]"];
  });
  return { ...checked, ...Object.fromEntries(names) };
}
