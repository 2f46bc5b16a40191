/** Returns the items of an array; an empty array for any other value. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Parses UTF-8 bytes as JSON. Returns undefined if they are not valid JSON. */
export function parseText(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
