import { statSync } from "node:fs";
import { join } from "node:path";

export const databaseFile = (home: string) => join(home, "meter.db");

/** The size of the database on disk in bytes; 0 if there is none. */
export function databaseBytes(home: string): number {
  return ["", "-wal"].reduce(
    (sum, end) => sum + (statSync(databaseFile(home) + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
