/** The thread that reads every page of a database, which takes seconds for a large one. */
import { parentPort, workerData } from "node:worker_threads";
import { StoreError } from "../../core/ports/sqlite.ts";
import { createSqliteOpener } from "./open-sqlite.ts";
import type { PageCheckAnswer } from "./page-check.ts";

if (parentPort === null) throw new Error("page-check-worker runs in a worker thread only");

async function findDamage(path: string): Promise<string | null> {
  try {
    const connection = await createSqliteOpener().open(path, { readOnly: true });
    try {
      const row = connection.prepare<{ quick_check: string }>("PRAGMA quick_check(1)").get([]);
      return row === null || row.quick_check === "ok" ? null : row.quick_check;
    } finally {
      connection.close();
    }
  } catch (cause) {
    return cause instanceof StoreError && cause.reason === "corrupt" ? cause.message : null;
  }
}

parentPort.postMessage({ damage: await findDamage(workerData as string) } satisfies PageCheckAnswer);
