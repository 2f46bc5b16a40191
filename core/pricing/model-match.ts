/**
 * Which model names a rate is for, on lower-case names. A rule is one text whose first character says how the rest is
 * compared, or a list of rules; there are no regular expressions, so that matching is linear whatever a client sends.
 *
 * `=a` is `a` · `^a` starts with `a` · `$a` ends with `a` · `~a` contains `a` · `#a-##` is `a-` and two digits ·
 * `%a-#` starts with `a-` and a digit · `!a` has no dash-separated part `a` · a list: any of them, or with `&` as its
 * first item all the others.
 */
export type MatchRule = string | readonly MatchRule[];

/** Longer names are not looked up: no provider has them, and a client chooses the name. */
export const MAX_MODEL_NAME_LENGTH = 256;

/** Whether the rule holds for the (lower-case) model name. */
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
      throw new TypeError(`match rule must start with one of =^$~#%!: current value is "${rule}"`);
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

/** The name as rules compare it; empty when it is too long to be a model's. */
export function normaliseModelName(model: string): string {
  return model.length > MAX_MODEL_NAME_LENGTH ? "" : model.trim().toLowerCase();
}

const COMPACT_DATE = /-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/;
const SNAPSHOT = /-(?:20\d{6}|20\d\d-\d\d-\d\d|latest|\d{3})$/;

/** Name with a date written `-20250929` as `-2025-09-29`, as some lists spell it; the name itself without one. */
export function dashDate(name: string): string {
  return name.replace(COMPACT_DATE, "-$1-$2-$3");
}

/** Name without the date, `-latest` or `-001` that marks a snapshot of a model; the name itself without one. */
export function withoutSnapshot(name: string): string {
  return name.replace(SNAPSHOT, "");
}

/**
 * Name as the model's maker would write it: without a resource path (`models/x`, `publishers/p/models/x`) and with
 * Vertex's `x@20250929` as `x-20250929`.
 */
export function withoutResourcePath(name: string): string {
  const path = name.lastIndexOf("models/");
  // Vertex's compatible endpoint puts the publisher before its own models.
  const bare = path < 0 ? name.replace(/^google\//, "") : name.slice(path + "models/".length);
  return bare.replace(/@(?:default|latest)$/, "").replace("@", "-");
}
