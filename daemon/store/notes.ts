import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { NoteStore } from "./port/settings.ts";

/** Implements `NoteStore` in the table `meta`. */
export function createNoteStore({ state }: { readonly state: SqliteConnection }): NoteStore {
  return {
    read: (key) =>
      state.prepare<{ value: string }>("SELECT value FROM meta WHERE key = ?").get([key])?.value ?? null,

    write(key, value) {
      if (value === null) state.prepare("DELETE FROM meta WHERE key = ?").run([key]);
      else state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([key, value]);
    },
  };
}
