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

/** A file that failed is opened again for a line that comes this much later, in milliseconds. */
const REOPEN_AFTER_MS = 2_000;

/** A log file and its closed predecessors, `name.1.log` being the youngest. */
export interface LogFile extends LogSink {
  /** Lines that could not be written. */
  lost(): number;
  /** Resolves when everything is written, or can't be. */
  close(): Promise<void>;
}

/**
 * Opens the log file for appending; it and its backups are readable by their owner alone. A failing disk costs lines,
 * nothing else: it is tried again with later lines. `maxBytes` and `reopenAfterMs` are there for tests.
 */
export function openLogFile(
  path: string,
  maxBytes = MAX_LOG_FILE_MIB * 1024 * 1024,
  reopenAfterMs = REOPEN_AFTER_MS,
): LogFile {
  const name = basename(path, ".log");
  let lost = 0;
  let failedAtMs: number | null = null;

  function openStream() {
    const stream = createStream((index) => (index ? `${name}.${index}.log` : `${name}.log`), {
      path: dirname(path),
      size: `${maxBytes}B`,
      rotate: LOG_BACKUPS,
      mode: 0o600,
    });
    let waiting = 0;
    const ended = new Promise<void>((resolve) => {
      // An error ends the stream: what it had not written is lost, and later lines get another one.
      stream.on("error", () => {
        lost += waiting;
        waiting = 0;
        failedAtMs = performance.now();
        resolve();
      });
      stream.on("close", resolve);
      stream.on("finish", resolve);
    });
    stream.on("warning", () => {});
    try {
      if (existsSync(path)) chmodSync(path, 0o600);
    } catch {
      // On a disk that can only be read; the stream will say so.
    }
    return {
      ended,
      write(line: string) {
        if (stream.writableLength > MAX_WAITING_BYTES) {
          lost += 1;
          return;
        }
        waiting += 1;
        stream.write(line, (error) => {
          if (error == null && waiting > 0) waiting -= 1;
        });
      },
      end: () => void stream.end(),
    };
  }
  let current = openStream();

  return {
    write(line) {
      if (failedAtMs !== null) {
        const isDue = performance.now() - failedAtMs >= reopenAfterMs;
        // A folder that is gone was removed by somebody who wants it gone.
        if (!isDue || !existsSync(dirname(path))) {
          lost += 1;
          return;
        }
        failedAtMs = null;
        current = openStream();
      }
      current.write(line);
    },
    lost: () => lost,
    close() {
      if (failedAtMs === null) current.end();
      return current.ended;
    },
  };
}
