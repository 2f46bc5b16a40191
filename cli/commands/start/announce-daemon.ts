import { rmSync } from "node:fs";
import process from "node:process";
import { readStat } from "../../../adapters/process-table/linux-process.ts";
import { type RunningDaemon, stateFile, tokenFile } from "../../daemon/daemon-process.ts";
import { type KeepFilesPorts, type KeptFile, keepFiles } from "./keep-files.ts";

/** Returns when this process began, by which shells recognise it; nothing if the system does not report it. */
export function processStart(): Pick<RunningDaemon, "process_start"> {
  const startTime = Number(readStat("/proc", process.pid)?.startTime);
  return Number.isInteger(startTime) ? { process_start: startTime } : {};
}

/**
 * Keeps the files by which commands find the daemon: `daemon.json`, the loopback API's token, and `mark`. Returns a function that ends
 * this and deletes `daemon.json`.
 */
export function announceDaemon(
  home: string,
  { running, token, mark }: { running: RunningDaemon; token: string; mark: KeptFile },
  ports: KeepFilesPorts,
): () => void {
  const path = stateFile(home);
  const release = keepFiles(
    [
      { path, text: `${JSON.stringify(running, null, 2)}\n` },
      { path: tokenFile(home), text: `${token}\n`, isWritten: true },
      mark,
    ],
    ports,
  );
  return () => {
    release();
    try {
      rmSync(path, { force: true });
    } catch {
      // Harmless: commands notice that the daemon it names does not answer.
    }
  };
}
