import { statSync } from "node:fs";
import { join } from "node:path";

export const databaseFile = (home: string) => join(home, "meter.db");

/** What the database takes on the disk; 0 where there is none. */
export function databaseBytes(home: string): number {
  return ["", "-wal"].reduce(
    (sum, end) => sum + (statSync(databaseFile(home) + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
