/** Stands for a segment that may name a thing: an id, a model, a file or a secret. */
const PLACEHOLDER = "{id}";

/** The maximum number of segments of a template. The rest is an ellipsis. */
const MAX_SEGMENTS = 10;

/** A version such as `v1`, `v1beta2` or `v2.1`. */
const VERSION = /^v\d{1,2}(?:\.\d{1,2})?(?:(?:alpha|beta|preview)\d{0,2})?$/;

/** Words of an API: letters, in camel case or joined by `-`, `_` or `.`. */
const WORDS = /^[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)*(?:[-_.][a-z]+)*$/;

/** Longer segments are names or secrets more often than words of an API. */
const MAX_WORD_CHARACTERS = 32;
const MAX_PART_CHARACTERS = 16;

function isWord(segment: string): boolean {
  const parts = segment.split(/[-_.]|(?=[A-Z])/);
  return (
    segment.length <= MAX_WORD_CHARACTERS &&
    WORDS.test(segment) &&
    parts.every((part) => part.length <= MAX_PART_CHARACTERS)
  );
}

function segmentTemplate(segment: string): string {
  if (segment === "" || VERSION.test(segment) || isWord(segment)) return segment;
  // A custom verb after a name, as in `models/gemini-pro:predict` (Google AIP-136).
  const [, verb] = /^[^:]*:([A-Za-z]+)$/.exec(segment) ?? [];
  return verb !== undefined && isWord(verb) ? `${PLACEHOLDER}:${verb}` : PLACEHOLDER;
}

/**
 * Returns a path in which every segment that is not a version or a word is `{id}`, so that calls to one endpoint share a
 * template and no id or key is stored. The query is left out.
 *
 * Decision: a word has letters only, and at most 16 of them without a break. A model's name is thus a placeholder too.
 */
export function pathTemplate(path: string): string {
  const segments = (path.split(/[?#]/, 1)[0] as string).replace(/^\//, "").split("/");
  const kept = segments.slice(0, MAX_SEGMENTS).map(segmentTemplate);
  return `/${kept.join("/")}${segments.length > MAX_SEGMENTS ? "/…" : ""}`;
}

/** Returns a method of at most 10 capital letters; others are `OTHER`. */
export function methodTemplate(method: string): string {
  return /^[A-Z]{1,10}$/.test(method) ? method : "OTHER";
}
