/** Maximum length of a project slug in characters. Source: docs/specification.md#limits. */
export const MAX_SLUG_LENGTH = 64;

/** A run of characters that a slug cannot contain. It includes the hyphen, so that one replacement also collapses repeats. */
const UNFIT_RUN = /[^a-z0-9:_/.]+/g;

/**
 * Converts any text to a project slug; the slug is empty if the text has no usable characters. Idempotent.
 * Source: docs/specification.md#configuration-keys. The trailing hyphen is removed after truncation:
 * docs/specification.md#attribution.
 *
 * Decision: "repeats collapse" applies to `-` only. `a//b` and `a..b` are unchanged, because they may be real names.
 */
export function normaliseSlug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(UNFIT_RUN, "-")
    .replace(/^-/, "")
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/-$/, "");
}
