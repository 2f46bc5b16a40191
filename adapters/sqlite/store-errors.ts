import { StoreError, type StoreErrorReason } from "../../core/ports/sqlite.ts";

/** SQLite's primary result codes (sqlite.org/rescode.html) that require a specific reaction. */
const reasons: Record<number, StoreErrorReason> = {
  5: "busy",
  6: "busy",
  7: "out_of_memory",
  8: "read_only",
  10: "io",
  11: "corrupt",
  13: "disk_full",
  14: "cannot_open",
  15: "busy",
  18: "invalid_value",
  19: "constraint",
  20: "invalid_value",
  23: "cannot_open",
  26: "corrupt",
};

/** SQLite's messages, for errors without a code (Deno's `exec()` and constructor) or with only the general one. */
const messages: readonly (readonly [text: string, reason: StoreErrorReason])[] = [
  ["database is locked", "busy"],
  ["database table is locked", "busy"],
  ["locking protocol", "busy"],
  ["out of memory", "out_of_memory"],
  ["readonly database", "read_only"],
  ["disk I/O error", "io"],
  ["malformed", "corrupt"],
  ["not a database", "corrupt"],
  ["unsupported file format", "corrupt"],
  ["database or disk is full", "disk_full"],
  ["unable to open database file", "cannot_open"],
  ["constraint failed", "constraint"],
];

/** SQLITE_IOERR_CORRUPTFS: the file system reports that the file is damaged. */
const corruptFileSystem = 10 | (33 << 8);

function codeOf(error: Error): number | null {
  const { errcode, errno } = error as { errcode?: unknown; errno?: unknown };
  if (typeof errcode === "number") return errcode;
  return typeof errno === "number" && errno > 0 ? errno : null;
}

function reasonOf(error: Error): StoreErrorReason {
  const code = codeOf(error);
  if (code === corruptFileSystem) return "corrupt";
  const known = code === null ? undefined : reasons[code & 0xff];
  if (known !== undefined) return known;
  if (error instanceof RangeError || error instanceof TypeError) return "invalid_value";
  return messages.find(([text]) => error.message.includes(text))?.[1] ?? "other";
}

/** Converts any error of a driver to the port's error. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (!(error instanceof Error)) return new StoreError("other", `SQLite failed: ${String(error)}`);
  const reason = reasonOf(error);
  const where =
    reason === "cannot_open"
      ? " (a WAL database needs its -shm file, which cannot be created in a read-only folder)"
      : "";
  return new StoreError(reason, `SQLite failed: ${error.message}${where}`, { cause: error });
}
