import { chmodSync, existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createStream } from "rotating-file-stream";
import type { LogLevel } from "../../core/ports/log.ts";
import type { LogSink } from "./line-logger.ts";

/** A log file is closed at this size, in MiB. Source: docs/specification.md#limits, log rotation. */
export const MAX_LOG_FILE_MIB = 100;

/** Number of closed log files that are kept. Source: docs/specification.md#limits, log rotation. */
export const LOG_BACKUPS = 5;

/**
 * How long lines of information are gathered after a write, in milliseconds: a write costs as much as many lines. The first one after
 * a pause is written at once, as are warnings and errors with what was gathered before them.
 */
const GATHER_MS = 50;

/** This many characters of lines are written without waiting longer. */
const MAX_GATHERED = 65_536;

/** Most bytes that may wait for the disk. Further lines are dropped to bound the memory. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Delay before a failed file is opened again, in milliseconds. */
const REOPEN_AFTER_MS = 2_000;

/** A log file and its closed predecessors; `name.1.log` is the most recent. */
export interface LogFile extends LogSink {
  /** Returns the number of lines that could not be written. */
  lost(): number;
  /** Resolves when everything is written or has failed. */
  close(): Promise<void>;
}

/** A file that lines are written to, until an error of the disk ends it. */
interface LineStream {
  readonly ended: Promise<void>;
  write(line: string, level: LogLevel): void;
  end(): void;
}

interface LogFileState {
  readonly path: string;
  readonly maxBytes: number;
  readonly reopenAfterMs: number;
  /** The number of lines that could not be written. */
  lost: number;
  /** When the stream failed, on a monotonic clock; null while it works. */
  failedAtMs: number | null;
}

/**
 * Opens the log file for appending. Only the owner can read it and its backups. If the disk fails, lines are lost and later
 * lines try again. `maxBytes` and `reopenAfterMs` are for tests.
 */
export function openLogFile(
  path: string,
  maxBytes = MAX_LOG_FILE_MIB * 1024 * 1024,
  reopenAfterMs = REOPEN_AFTER_MS,
): LogFile {
  const state: LogFileState = { path, maxBytes, reopenAfterMs, lost: 0, failedAtMs: null };
  let stream = openStream(state);
  return {
    write(line, level) {
      if (state.failedAtMs !== null) {
        if (!mayReopen(state, state.failedAtMs)) {
          state.lost += 1;
          return;
        }
        state.failedAtMs = null;
        stream = openStream(state);
      }
      stream.write(line, level);
    },
    lost: () => state.lost,
    close() {
      if (state.failedAtMs === null) stream.end();
      return stream.ended;
    },
  };
}

/** Whether to open the file again after a failure. If the folder was removed, it is not recreated. */
function mayReopen({ path, reopenAfterMs }: LogFileState, failedAtMs: number): boolean {
  return performance.now() - failedAtMs >= reopenAfterMs && existsSync(dirname(path));
}

function openStream(state: LogFileState): LineStream {
  const { path, maxBytes } = state;
  const name = basename(path, ".log");
  const stream = createStream((index) => (index ? `${name}.${index}.log` : `${name}.log`), {
    path: dirname(path),
    size: `${maxBytes}B`,
    rotate: LOG_BACKUPS,
    mode: 0o600,
  });
  let waiting = 0;
  const gatherer = createGatherer(Math.min(MAX_GATHERED, maxBytes / 100), (lines, count) => {
    stream.write(lines, (error) => {
      if (error == null && waiting > 0) waiting -= count;
    });
  });
  const ended = new Promise<void>((resolve) => {
    // An error ends the stream: its unwritten lines are lost, and later lines open a new stream.
    stream.on("error", () => {
      gatherer.clear();
      state.lost += waiting;
      waiting = 0;
      state.failedAtMs = performance.now();
      resolve();
    });
    stream.on("close", resolve);
    stream.on("finish", resolve);
  });
  stream.on("warning", () => {});
  try {
    if (existsSync(path)) chmodSync(path, 0o600);
  } catch {
    // On a read-only disk, the stream will report the error.
  }
  return {
    ended,
    write(line, level) {
      if (stream.writableLength > MAX_WAITING_BYTES) {
        state.lost += 1;
        return;
      }
      waiting += 1;
      gatherer.add(line);
      if (level === "warn" || level === "error") gatherer.flush();
    },
    end() {
      gatherer.flush();
      stream.end();
    },
  };
}

/** Gathers lines, so that they are written together. */
function createGatherer(maxLength: number, write: (lines: string, count: number) => void) {
  let lines = "";
  let count = 0;
  let timer: NodeJS.Timeout | null = null;
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  const clear = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    lines = "";
    count = 0;
  };
  const flush = () => {
    const [gathered, number] = [lines, count];
    clear();
    writtenAtMs = performance.now();
    if (number > 0) write(gathered, number);
  };
  return {
    add(line: string) {
      lines += line;
      count += 1;
      const dueInMs = writtenAtMs + GATHER_MS - performance.now();
      if (dueInMs <= 0 || lines.length >= maxLength) flush();
      else timer ??= setTimeout(flush, dueInMs);
    },
    flush,
    /** Forgets the lines that were not written. */
    clear,
  };
}
