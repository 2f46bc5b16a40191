import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Deletion, Store } from "../daemon/store/mod.ts";
import { findDaemon } from "./daemon-process.ts";
import { databaseBytes } from "./database-file.ts";
import { counted } from "./render/count.ts";

/** What a deletion freed. */
export interface Freed {
  readonly requests: number;
  readonly bodies: number;
  /** Bytes that the database's files are smaller; 0 where they keep their size for what comes. */
  readonly freedBytes: number;
  /** Whether the files keep their size, since a daemon uses them. */
  readonly keepsSize: boolean;
}

/** Deletes what was captured before the instant (`null`: everything), a part at a time, so that capture goes on. */
export async function deleteCaptured(home: string, store: Store, before: number | null): Promise<Freed> {
  const bytesBefore = databaseBytes(home);
  const keepsSize = (await findDaemon(home)) !== null;
  const total = { requests: 0, bodies: 0 };
  for (;;) {
    const { requests, bodies } = store.deleteSome(before);
    if (requests + bodies === 0) break;
    total.requests += requests;
    total.bodies += bodies;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  store.finishDeletion(before, !keepsSize);
  return { ...total, freedBytes: Math.max(0, bytesBefore - databaseBytes(home)), keepsSize };
}

/** Removes the copies of what was sent to a cloud. */
export function deleteOutbox(home: string): void {
  rmSync(join(home, "outbox"), { recursive: true, force: true });
}

/** A database that was moved aside since it was damaged, or a part of one. */
const SET_ASIDE = /^meter\.db(\.corrupt(-\d+)?(-wal|-shm|-journal)?|-wal\.corrupt(-\d+)?)$/;

/** Removes the damaged databases that the daemon moved aside: what was captured is in them too. */
export function deleteSetAside(home: string): void {
  for (const name of readdirSync(home)) if (SET_ASIDE.test(name)) rmSync(join(home, name), { force: true });
}

const requestsInWords = (n: number) => counted(n, "request");
const bodiesInWords = (n: number) => counted(n, "captured body", "captured bodies");

/** What is to be deleted, for people. */
export function deletionInWords({ requests, bodies, unsent }: Deletion): string {
  const sent = unsent > 0 ? ` (${requestsInWords(unsent)} not sent to the cloud yet)` : "";
  return `${requestsInWords(requests)}${sent} and ${bodiesInWords(bodies)}`;
}

/** What was deleted, for people. */
export function freedInWords({ requests, bodies, freedBytes, keepsSize }: Freed): string {
  const space = keepsSize
    ? "The daemon is running, so the database keeps its size and uses the space again."
    : `The database is ${(freedBytes / 1024 / 1024).toFixed(1)} MiB smaller.`;
  return `Deleted ${requestsInWords(requests)} and ${bodiesInWords(bodies)}. ${space}`;
}
