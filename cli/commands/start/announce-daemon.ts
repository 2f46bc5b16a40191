import { rmSync } from "node:fs";
import process from "node:process";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { writeFileAtomic } from "../../../adapters/files/write-file-atomic.ts";
import { readStat } from "../../../adapters/process-table/linux-process.ts";
import type { RunningDaemon } from "../../daemon/daemon-process.ts";

/** How often writing `daemon.json` is retried, for example on a full disk, in milliseconds. */
const RETRY_MS = 2_000;

/** Returns when this process began, by which shells recognise it; nothing if the system does not report it. */
export function processStart(): Pick<RunningDaemon, "process_start"> {
  const startTime = Number(readStat("/proc", process.pid)?.startTime);
  return Number.isInteger(startTime) ? { process_start: startTime } : {};
}

/**
 * Writes `daemon.json`, by which commands find the daemon, and retries until it succeeds. Returns a function that deletes
 * the file.
 */
export function announceDaemon(
  path: string,
  running: RunningDaemon,
  report: (warning: string) => void,
): () => void {
  let cancelRetry = () => {};
  const write = (isRetry: boolean) => {
    try {
      writeFileAtomic(path, `${JSON.stringify(running, null, 2)}\n`, { mode: 0o600 });
    } catch (cause) {
      if (!isRetry)
        report(
          `Commands can't find this daemon because ${path} can't be written: ${(cause as Error).message}.`,
        );
      cancelRetry = systemClock.setTimer(RETRY_MS, () => write(true));
    }
  };
  write(false);
  return () => {
    cancelRetry();
    try {
      rmSync(path, { force: true });
    } catch {
      // Harmless: commands notice that the daemon it names does not answer.
    }
  };
}
