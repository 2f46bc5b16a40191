import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";

export const opener = createSqliteOpener();

/** Runs the work with a new folder and removes it. */
export async function inNewFolder(work: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "meter-store-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the work with an empty store in memory. */
export async function withStore(work: (store: Store) => void | Promise<void>): Promise<void> {
  const store = await openStore(opener, ":memory:");
  try {
    await work(store);
  } finally {
    store.close();
  }
}
