import { chmodSync, existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createStream } from "rotating-file-stream";
import type { LogSink } from "./create-log.ts";

/** A log file is closed at this size, in MiB. Source: contract, "Limits", log rotation. */
export const MAX_LOG_FILE_MIB = 100;

/** How many closed log files are kept. Source: contract, "Limits", log rotation. */
export const LOG_BACKUPS = 5;

/** A log file and its closed predecessors, `name.1.log` being the youngest. */
export interface LogFile extends LogSink {
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

/** Opens the log file for appending; it and its backups are readable by their owner alone. A failing disk costs lines, nothing else. */
export function openLogFile(path: string): LogFile {
  const folder = dirname(path);
  const name = basename(path, ".log");
  const stream = createStream((time) => (time ? `${name}.${time}.log` : `${name}.log`), {
    path: folder,
    size: `${MAX_LOG_FILE_MIB}M`,
    rotate: LOG_BACKUPS,
    mode: 0o600,
  });
  stream.on("error", () => {});
  stream.on("warning", () => {});
  if (existsSync(join(folder, `${name}.log`))) chmodSync(join(folder, `${name}.log`), 0o600);
  return {
    write: (line) => void stream.write(line),
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}
