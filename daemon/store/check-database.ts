import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { requireLatestSchema } from "./migrate.ts";
import { readLastSeq, readThroughSeq } from "./rollups.ts";

/** The result of a check. The check moves and repairs nothing. */
interface DatabaseCheck {
  readonly state: "absent" | "ok" | "corrupt" | "older_schema" | "newer_schema" | "unreadable";
  /** SQLite's message. Null if the database is intact. */
  readonly detail: string | null;
  readonly newestRequestAt: Millis | null;
  /** How many requests the rollups do not contain yet. */
  readonly unsummed: number | null;
}

const nothingKnown = { newestRequestAt: null, unsummed: null };

const states: Readonly<Record<string, DatabaseCheck["state"]>> = {
  missing: "absent",
  corrupt: "corrupt",
  older_schema: "older_schema",
  newer_schema: "newer_schema",
};

/**
 * Opens the database at the path, while a daemon may be writing to it, and reads every page unless `pages` is `unread`. Never
 * rejects.
 */
export async function checkDatabase(
  opener: SqliteOpener,
  path: string,
  pages: "read" | "unread" = "read",
): Promise<DatabaseCheck> {
  try {
    const connection = await opener.open(path, { readOnly: true });
    try {
      requireLatestSchema(connection);
      const found =
        pages === "unread"
          ? "ok"
          : connection.prepare<{ quick_check: string }>("PRAGMA quick_check(1)").get([])?.quick_check;
      if (found !== "ok") return { state: "corrupt", detail: found ?? null, ...nothingKnown };
      const newest = connection
        .prepare<{ at: number }>("SELECT requested_at AS at FROM requests ORDER BY requested_at DESC LIMIT 1")
        .get([]);
      const unsummed = Math.max(0, readLastSeq(connection) - (readThroughSeq(connection) ?? 0));
      return { state: "ok", detail: null, newestRequestAt: newest?.at ?? null, unsummed };
    } finally {
      connection.close();
    }
  } catch (cause) {
    const reason = cause instanceof StoreError ? cause.reason : "";
    return {
      state: states[reason] ?? "unreadable",
      detail: (cause as Error).message,
      ...nothingKnown,
    };
  }
}
