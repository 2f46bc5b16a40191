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
  const together = redact(written.join("\n"));
  // As good as always: one look at all of them.
  if (together.ok && together.summary.length === 0) return clean;
  const names = WRITTEN.map((name) => {
    const text = clean[name];
    if (text === null) return [name, null];
    const redacted = redact(text);
    return [name, redacted.ok ? redacted.text : "[redacted]"];
  });
  return { ...clean, ...Object.fromEntries(names) };
}
