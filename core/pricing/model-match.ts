/**
 * A rule that decides which model names a rate applies to. Names are in lower case. A rule is a text whose first character
 * selects the comparison, or a list of rules. There are no regular expressions, so matching takes linear time for any name
 * that a client sends.
 *
 * - `=a`: is `a`
 * - `^a`: starts with `a`
 * - `$a`: ends with `a`
 * - `~a`: contains `a`
 * - `#a-##`: is `a-` and two digits
 * - `%a-#`: starts with `a-` and a digit
 * - `!a`: has no dash-separated part `a`
 * - a list: any of the rules; if the first item is `&`, all the others
 */
export type MatchRule = string | readonly MatchRule[];

/** Maximum length of a model name. Clients choose the name, and no model has a longer one. */
export const MAX_MODEL_NAME_LENGTH = 256;

/** Whether a model name in lower case matches the rule. */
export function matchesRule(rule: MatchRule, name: string): boolean {
  if (typeof rule !== "string") {
    return rule[0] === "&"
      ? rule.slice(1).every((item) => matchesRule(item, name))
      : rule.some((item) => matchesRule(item, name));
  }
  const text = rule.slice(1);
  switch (rule[0]) {
    case "=":
      return name === text;
    case "^":
      return name.startsWith(text);
    case "$":
      return name.endsWith(text);
    case "~":
      return name.includes(text);
    case "#":
      return name.length === text.length && startsWithTemplate(name, text);
    case "%":
      return startsWithTemplate(name, text);
    case "!":
      return !`${name}-`.includes(`-${text}-`);
    default:
      throw new TypeError(`a match rule must start with one of =^$~#%!: current value is "${rule}"`);
  }
}

function startsWithTemplate(name: string, template: string): boolean {
  if (name.length < template.length) return false;
  for (let index = 0; index < template.length; index++) {
    const wanted = template[index];
    const found = name[index]!;
    if (wanted === "#" ? found < "0" || found > "9" : found !== wanted) return false;
  }
  return true;
}

/** Normalises a model name for matching. Returns an empty text if it is too long. */
export function normaliseModelName(model: string): string {
  return model.length > MAX_MODEL_NAME_LENGTH ? "" : model.trim().toLowerCase();
}

const COMPACT_DATE = /-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/;
const SNAPSHOT = /-(?:20\d{6}|20\d\d-\d\d-\d\d|latest|\d{3})$/;

/** Returns the name with a date such as `-20250929` written as `-2025-09-29`, as in some price lists. */
export function dashDate(name: string): string {
  return name.replace(COMPACT_DATE, "-$1-$2-$3");
}

/** Returns the name without the suffix of a snapshot: a date, `-latest` or `-001`. */
export function withoutSnapshot(name: string): string {
  return name.replace(SNAPSHOT, "");
}

/**
 * Returns the name as the model's maker writes it: without a resource path (`models/x`, `publishers/p/models/x`), and with
 * `x-20250929` for Vertex's `x@20250929`.
 */
export function withoutResourcePath(name: string): string {
  const path = name.lastIndexOf("models/");
  // Vertex's compatible endpoint puts the publisher before its own models.
  const bare = path < 0 ? name.replace(/^google\//, "") : name.slice(path + "models/".length);
  // Most names have none, and the expression tries every character.
  return bare.includes("@") ? bare.replace(/@(?:default|latest)$/, "").replace("@", "-") : bare;
}
