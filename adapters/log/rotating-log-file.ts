import { chmodSync, existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createStream } from "rotating-file-stream";
import type { LogSink } from "./line-logger.ts";

/** A log file is closed at this size, in MiB. Source: contract, "Limits", log rotation. */
export const MAX_LOG_FILE_MIB = 100;

/** How many closed log files are kept. Source: contract, "Limits", log rotation. */
export const LOG_BACKUPS = 5;

/** Most bytes that may wait for the disk; beyond it lines are dropped rather than memory filled. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** A log file and its closed predecessors, `name.1.log` being the youngest. */
export interface LogFile extends LogSink {
  /** Lines that could not be written. */
  lost(): number;
  /** Resolves when everything is written, or can't be. */
  close(): Promise<void>;
}

/**
 * Opens the log file for appending; it and its backups are readable by their owner alone. A failing disk costs lines,
 * nothing else. `maxBytes` is there for tests.
 */
export function openLogFile(path: string, maxBytes = MAX_LOG_FILE_MIB * 1024 * 1024): LogFile {
  const name = basename(path, ".log");
  const stream = createStream((index) => (index ? `${name}.${index}.log` : `${name}.log`), {
    path: dirname(path),
    size: `${maxBytes}B`,
    rotate: LOG_BACKUPS,
    mode: 0o600,
  });
  let lost = 0;
  let failed = false;
  const closed = new Promise<void>((resolve) => {
    // An error ends the stream; the daemon goes on without its log, and `lost()` tells.
    stream.on("error", () => {
      failed = true;
      resolve();
    });
    stream.on("close", resolve);
    stream.on("finish", resolve);
  });
  stream.on("warning", () => {});
  if (existsSync(path)) chmodSync(path, 0o600);
  return {
    write(line) {
      if (failed || stream.writableLength > MAX_WAITING_BYTES) lost += 1;
      else stream.write(line);
    },
    lost: () => lost,
    close() {
      if (!failed) stream.end();
      return closed;
    },
  };
}
