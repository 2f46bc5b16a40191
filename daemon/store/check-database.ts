import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/time.ts";
import { requireLatestSchema } from "./migrate.ts";

/** How a database stands; nothing is moved or mended. */
export interface DatabaseCheck {
  readonly state: "absent" | "ok" | "corrupt" | "older_schema" | "newer_schema" | "unreadable";
  /** What SQLite said; null where all is well. */
  readonly detail: string | null;
  readonly newestRequestAt: Millis | null;
}

const states: Readonly<Record<string, DatabaseCheck["state"]>> = {
  missing: "absent",
  corrupt: "corrupt",
  older_schema: "older_schema",
  newer_schema: "newer_schema",
};

/** Reads every page of the database at the path, while a daemon may be writing to it. Never rejects. */
export async function checkDatabase(opener: SqliteOpener, path: string): Promise<DatabaseCheck> {
  try {
    const connection = await opener.open(path, { readOnly: true });
    try {
      requireLatestSchema(connection);
      const found = connection.prepare<{ quick_check: string }>("PRAGMA quick_check(1)").get([])?.quick_check;
      if (found !== "ok") return { state: "corrupt", detail: found ?? null, newestRequestAt: null };
      const newest = connection
        .prepare<{ at: number }>("SELECT requested_at AS at FROM requests ORDER BY requested_at DESC LIMIT 1")
        .get([]);
      return { state: "ok", detail: null, newestRequestAt: newest?.at ?? null };
    } finally {
      connection.close();
    }
  } catch (cause) {
    const reason = cause instanceof StoreError ? cause.reason : "";
    return {
      state: states[reason] ?? "unreadable",
      detail: (cause as Error).message,
      newestRequestAt: null,
    };
  }
}
