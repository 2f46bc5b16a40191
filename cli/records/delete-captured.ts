import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Deletion } from "../../daemon/store/port/deletion.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { findDaemon } from "../daemon/daemon-process.ts";
import { databaseBytes } from "../home/database-file.ts";

/** The result of a deletion. */
export interface DeletionResult {
  readonly requests: number;
  readonly bodies: number;
  /** By how many bytes the database files shrank; 0 if they keep their size. */
  readonly freedBytes: number;
  /** Whether the files keep their size because a daemon has them open. */
  readonly keepsSize: boolean;
}

/** Deletes the records from before a time (`null`: all), in small batches so that the daemon can keep writing. */
export async function deleteRecords(
  home: string,
  store: Store,
  before: number | null,
): Promise<DeletionResult> {
  const bytesBefore = databaseBytes(home);
  const keepsSize = (await findDaemon(home)) !== null;
  const total = { requests: 0, bodies: 0 };
  for (;;) {
    const { requests, bodies } = store.deletion.deleteSome(before);
    if (requests + bodies === 0) break;
    total.requests += requests;
    total.bodies += bodies;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  store.deletion.finish(before, !keepsSize);
  return { ...total, freedBytes: Math.max(0, bytesBefore - databaseBytes(home)), keepsSize };
}

/** Deletes the outbox: the log of what was sent to a cloud. */
export function deleteOutbox(home: string): void {
  rmSync(join(home, "outbox"), { recursive: true, force: true });
}

/** A damaged database that was moved aside, or one of its files. */
const SET_ASIDE = /^meter\.db(\.corrupt(-\d+)?(-wal|-shm|-journal)?|-wal\.corrupt(-\d+)?)$/;

/** Deletes the damaged databases that the daemon moved aside, because they contain records too. */
export function deleteSetAside(home: string): void {
  for (const name of readdirSync(home)) if (SET_ASIDE.test(name)) rmSync(join(home, name), { force: true });
}

const formatRequests = (n: number) => formatQuantity(n, "request");
const formatBodies = (n: number) => formatQuantity(n, "captured body", "captured bodies");

/** Describes what will be deleted. */
export function describeDeletion({ requests, bodies, unsent }: Deletion): string {
  const notSent = unsent > 0 ? ` (${formatRequests(unsent)} not sent to the cloud yet)` : "";
  return `${formatRequests(requests)}${notSent} and ${formatBodies(bodies)}`;
}

/** Describes what was deleted. */
export function describeDeletionResult({ requests, bodies, freedBytes, keepsSize }: DeletionResult): string {
  const freed = (freedBytes / 1024 / 1024).toFixed(1);
  const space = keepsSize
    ? " The daemon is running, so the database file keeps its size; the daemon reuses the free space."
    : freed === "0.0"
      ? ""
      : ` The database is ${freed} MiB smaller.`;
  return `Deleted ${formatRequests(requests)} and ${formatBodies(bodies)}.${space}`;
}
