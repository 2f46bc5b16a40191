import type { NoteStore } from "./port/settings.ts";

/**
 * Reads a note that was written as JSON. Null: there is none, or it can't be parsed, for example because the database was damaged. Its task
 * then begins anew instead of failing each time.
 */
export function readNote<Value>(notes: Pick<NoteStore, "read">, key: string): Value | null {
  const text = notes.read(key);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return null;
  }
}
