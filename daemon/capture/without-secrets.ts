import type { RequestRecord } from "../../core/record.ts";
import type { Redact } from "../../core/redaction/mod.ts";

/** What a client or a provider wrote, and what is kept and sent as a name. */
const WRITTEN = ["model", "requestedModel", "serviceTier", "path", "providerResponseId"] as const;

/**
 * The record without secrets in its names: a key that was given for a model, or that stands in a path. Decision: the
 * rules for bodies hold here too, and a tier is one word or none.
 */
export function withoutSecrets(record: RequestRecord, redact: Redact): RequestRecord {
  const { serviceTier } = record;
  const clean =
    serviceTier === null || /^[\w.:-]{1,64}$/.test(serviceTier) ? record : { ...record, serviceTier: null };
  const written = WRITTEN.map((name) => clean[name] ?? "");
  // A search that fails costs the names, never the record. A space behind a text says that it was not cut off there.
  const search = (text: string) => {
    try {
      return redact(`${text} `);
    } catch {
      return { ok: false } as const;
    }
  };
  const together = search(written.join("\n"));
  // As good as always: one look at all of them.
  if (together.ok && together.summary.length === 0) return clean;
  const names = WRITTEN.map((name) => {
    const text = clean[name];
    if (text === null) return [name, null];
    const redacted = search(text);
    return [name, redacted.ok ? redacted.text.slice(0, -1) : "[redacted]"];
  });
  return { ...clean, ...Object.fromEntries(names) };
}
