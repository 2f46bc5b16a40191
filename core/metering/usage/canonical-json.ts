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
  const items: string[] = [];
  for (const item of array) {
    const text = write(item, depth);
    if (text === null) return null;
    items.push(text);
  }
  return `[${items.join(",")}]`;
}

function writeObject(object: object, depth: number): string | null {
  const members: string[] = [];
  // The default order of `sort` is by UTF-16 code units.
  for (const name of Object.keys(object).sort()) {
    const text = write((object as Record<string, unknown>)[name], depth);
    if (text === null || !name.isWellFormed()) return null;
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
