/** Most characters of a project slug. Source: contract, "Limits". */
export const MAX_SLUG_LENGTH = 64;

/** A run of what a slug can't hold; the hyphen is in it so that one replacement also collapses repeats. */
const UNFIT_RUN = /[^a-z0-9:_/.]+/g;

/**
 * Makes a project slug of any text; empty when nothing usable is in it. Normalising twice changes nothing.
 * Source: contract, "Local daemon configuration keys"; the second stripping, after the cut, is decisions, "Daemon".
 *
 * Decision: "repeats collapse" means repeats of `-`; `a//b` and `a..b` stay, because they can be names as they are.
 */
export function normaliseSlug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(UNFIT_RUN, "-")
    .replace(/^-/, "")
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/-$/, "");
}
