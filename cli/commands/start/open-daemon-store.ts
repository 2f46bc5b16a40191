import { systemClock } from "../../../adapters/clock/system-clock.ts";
import type { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { openResilientStore } from "../../../daemon/store/resilient-store.ts";
import { databaseFile } from "../../home/database-file.ts";
import type { DaemonWarnings } from "./daemon-warnings.ts";

/**
 * Opens the daemon's store, which keeps trying if the database can't be opened or written. Damage and trouble become
 * warnings. `reopened` is called each time the database was opened.
 */
export async function openDaemonStore(
  home: string,
  opener: ReturnType<typeof createSqliteOpener>,
  warnings: DaemonWarnings,
  reopened: () => void,
): Promise<Store> {
  const store = await openResilientStore(
    {
      opener,
      clock: systemClock,
      monotonicMs: () => performance.now(),
      opened({ setAsidePath, damagedLogPath }) {
        if (setAsidePath !== null)
          warnings.report(
            `The database was damaged. It was moved to ${setAsidePath}, and a new one was created.`,
          );
        if (damagedLogPath !== null)
          warnings.add(
            `The last calls before the database was closed may be missing: its log was damaged and is kept as ${damagedLogPath}.`,
          );
        reopened();
      },
      syncFailed: (error) =>
        warnings.report(
          `The latest records may be lost in a power cut: the disk does not sync them (${errorCode(error)}).`,
        ),
    },
    databaseFile(home),
  );
  if (store.trouble !== null)
    warnings.report(`Calls pass, but records can't be stored: ${store.trouble.message}.`);
  return store;
}

const errorCode = (error: unknown) => (error as NodeJS.ErrnoException).code ?? (error as Error).name;
