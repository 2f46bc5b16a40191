/** Maximum nesting depth. Real prompts stay below a few dozen levels. */
const MAX_DEPTH = 512;

/**
 * Serialises a JSON value as canonical JSON (RFC 8785): members sorted by the UTF-16 code units of their names, numbers as in
 * ECMAScript, no white space. Returns null if there is no canonical form: an unpaired surrogate (RFC 8785 section 3.2.2.2), a
 * number that is not finite, a value that is not JSON, or nesting beyond 512 levels.
 */
export function canonicalJson(value: unknown): string | null {
  return write(value, 0);
}

function write(value: unknown, depth: number): string | null {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? JSON.stringify(value) : null;
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : null;
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth === MAX_DEPTH) return null;
      return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1);
    default:
      return null;
  }
}

function writeArray(array: readonly unknown[], depth: number): string | null {
  let items = "";
  for (const item of array) {
    const text = write(item, depth);
    if (text === null) return null;
    items += items === "" ? text : `,${text}`;
  }
  return `[${items}]`;
}

function writeObject(object: object, depth: number): string | null {
  let members = "";
  for (const name of sortedNames(object)) {
    const text = write((object as Record<string, unknown>)[name], depth);
    if (text === null || !name.isWellFormed()) return null;
    members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}

/** Returns the names of members by UTF-16 code units. Most objects have two, which `sort` would copy. */
function sortedNames(object: object): string[] {
  const names = Object.keys(object);
  if (names.length !== 2) return names.sort();
  const [first, second] = names as [string, string];
  return first < second ? names : [second, first];
}
