import type { FoundLog } from "../../adapters/agent-logs/find-log-files.ts";
import {
  type LinePosition,
  readLogDocument,
  readLogLines,
} from "../../adapters/agent-logs/read-log-lines.ts";
import { type CopySpace, MAX_COPIED_BYTES, readLogRows } from "../../adapters/agent-logs/read-log-rows.ts";
import {
  type LogEntry,
  type LogFault,
  largerEntry,
  type PullRequestLink,
} from "../../core/metering/agent-logs/log-entry.ts";
import {
  LOG_READER_VERSION,
  logFormatOf,
  sessionOfPath,
} from "../../core/metering/agent-logs/log-formats.ts";
import { formatBytes } from "../../core/values/text/format-bytes.ts";
import type { LogPosition } from "../../daemon/store/port/logs.ts";

/** What receives what a file contains. */
export interface FileReceiver {
  /** Receives each entry once, or again if a later line has more tokens. */
  onEntries(entries: readonly LogEntry[]): Promise<void>;
  onFault(fault: LogFault): void;
  onLink?(link: PullRequestLink): void;
  onLines(lines: number): void;
  onBytes(bytes: number): void;
}

/** The result of reading a file: how far it was read, or why it was not. */
export type FileResult =
  | { readonly ok: true; readonly position: LogPosition }
  | ({ readonly ok: false } & ReadProblem);

/** Why a file was not read. */
export interface ReadProblem {
  readonly reason: string;
  /** If there is no room for a copy: what it needs. */
  readonly space?: CopySpace;
}

const READ_PROBLEMS: Readonly<Record<string, string>> = {
  busy: "it changes while it is read. Try again",
  too_large: `it is in use, and larger than ${formatBytes(MAX_COPIED_BYTES)}, the largest that is copied. Close its program, then try again`,
  scratch_in_use: "another import is reading a database. Try again when it has finished",
  ENOSPC: "the disk is full",
  corrupt: "it is not a readable SQLite database",
  cannot_open: "it cannot be opened",
  io: "the disk could not be read",
  out_of_memory: "there is not enough memory",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/** Describes why a file was not read, as the end of a sentence. */
export function describeReadProblem({ reason, space }: ReadProblem): string {
  if (space === undefined) return READ_PROBLEMS[reason] ?? reason;
  const [copy, kept, free] = [space.copyBytes, space.keptFreeBytes, space.freeBytes].map(formatBytes);
  return `it is in use, and a copy of it (${copy}) does not fit beside the meter's database: ${free} are free, and ${kept} must stay free. Close its program or free some space, then try again`;
}

/** A file that was not read, as JSON. */
export const problemJson = ({ path, reason, space }: ReadProblem & { readonly path: string }): object => ({
  path,
  reason,
  ...(space !== undefined && {
    copy_bytes: space.copyBytes,
    kept_free_bytes: space.keptFreeBytes,
    free_bytes: space.freeBytes,
  }),
});

/** How many entries are held back, so that those of one call are merged before they are stored. */
const MAX_HELD = 1_000;

/** Whether a file is as it was when it was read. */
export function isUnchanged(file: FoundLog, position: LogPosition | null): boolean {
  return (
    position !== null &&
    isContinued(file, position) &&
    position.fileId === file.fileId &&
    position.size === file.size &&
    position.modifiedAt === file.modifiedAt
  );
}

const isContinued = (file: FoundLog, position: LogPosition) =>
  position.format === file.format && position.readerVersion === LOG_READER_VERSION;

/** Reads what is new in a file. Never rejects because of the file or its contents. */
export async function readAgentFile(
  file: FoundLog,
  stored: LogPosition | null,
  scratchFolder: string,
  receiver: FileReceiver,
): Promise<FileResult> {
  const before = stored !== null && isContinued(file, stored) ? stored : null;
  const held = holdEntries(receiver);
  try {
    const { kind } = logFormatOf(file.format);
    const read = kind === "lines" ? readLines : kind === "rows" ? readRows : readDocument;
    const end = await read(file, before, held, scratchFolder);
    if ("reason" in end) return { ...end, ok: false };
    await held.flush();
    const { path, agent, format, fileId, size, modifiedAt } = file;
    return {
      ok: true,
      position: { path, agent, format, fileId, size, modifiedAt, readerVersion: LOG_READER_VERSION, ...end },
    };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    return { ok: false, reason: code };
  }
}

type End = Pick<LogPosition, "offset" | "line" | "tailHash" | "state">;

interface HeldEntries extends FileReceiver {
  add(entries: readonly LogEntry[]): void;
  /** Passes the entries on if there are many. */
  relieve(): Promise<void>;
  flush(): Promise<void>;
}

function holdEntries(receiver: FileReceiver): HeldEntries {
  let held = new Map<string, LogEntry>();
  const flush = async () => {
    const entries = [...held.values()];
    held = new Map();
    if (entries.length > 0) await receiver.onEntries(entries);
  };
  return {
    ...receiver,
    add(entries) {
      for (const entry of entries) {
        const known = held.get(entry.key);
        held.set(entry.key, known === undefined ? entry : largerEntry(known, entry));
      }
    },
    relieve: async () => {
      if (held.size >= MAX_HELD) await flush();
    },
    flush,
  };
}

/** Starts the reader of a file, or continues it. */
function startReader(file: FoundLog, before: LogPosition | null) {
  const { reader } = logFormatOf(file.format);
  const start = () =>
    reader.start({ session: sessionOfPath(file.format, file.relativePath), modifiedAt: file.modifiedAt });
  return { reader, state: before === null ? start() : (JSON.parse(before.state) as object), start };
}

async function readLines(file: FoundLog, before: LogPosition | null, held: HeldEntries): Promise<End> {
  const { reader, start, ...begun } = startReader(file, before);
  let { state } = begun;
  const from: LinePosition | null = before;
  let firstLine = 0;
  const end = await readLogLines(file.path, { needles: reader.needles, from }, (isContinuedAtEnd) => {
    if (!isContinuedAtEnd) state = start();
    else firstLine = before?.line ?? 0;
    return {
      onLine(text, line, isEnded) {
        let item: unknown;
        try {
          item = JSON.parse(text);
        } catch {
          // A last line without a line end is still being written.
          if (isEnded) held.onFault("unreadable");
          return;
        }
        const step = reader.read(state, item, line);
        held.add(step.entries);
        if (isEnded) {
          state = step.state;
          for (const fault of step.faults) held.onFault(fault);
          if (step.link !== undefined) held.onLink?.(step.link);
        } else held.add(reader.end(step.state));
      },
      onTooLong: () => held.onFault("too_long"),
      onChunk: async (bytes) => {
        held.onBytes(bytes);
        await held.relieve();
      },
    };
  });
  held.add(reader.end(state));
  held.onLines(end.line - firstLine);
  return { ...end, state: JSON.stringify(state) };
}

const WITHOUT_LINES = { offset: 0, line: 0, tailHash: "" } as const;

async function readDocument(file: FoundLog, _before: LogPosition | null, held: HeldEntries): Promise<End> {
  const { reader, state } = startReader(file, null);
  const read = await readLogDocument(file.path);
  held.onBytes(file.size);
  if (typeof read === "string") held.onFault(read);
  else {
    const step = reader.read(state, read.value, 1);
    held.add([...step.entries, ...reader.end(step.state)]);
    for (const fault of step.faults) held.onFault(fault);
    held.onLines(1);
  }
  return { ...WITHOUT_LINES, state: JSON.stringify(state) };
}

/** The state of a database is the last change of each table. */
async function readRows(
  file: FoundLog,
  before: LogPosition | null,
  held: HeldEntries,
  scratchFolder: string,
): Promise<End | ReadProblem> {
  const { reader, state } = startReader(file, null);
  const { queries = [] } = logFormatOf(file.format);
  // Another file at this path may have rows from before the last change that was read.
  const isSameFile = before !== null && before.fileId === file.fileId;
  const after = isSameFile ? (JSON.parse(before.state) as Record<string, string | number>) : {};
  let rows = 0;
  const found = await readLogRows(
    file.path,
    { queries, after, now: Date.now(), scratchFolder },
    ({ values, line }) => {
      const step = reader.read(state, values, line);
      held.add(step.entries);
      for (const fault of step.faults) held.onFault(fault);
      rows += 1;
    },
  );
  held.onBytes(file.size);
  if (!found.ok) return found;
  held.onLines(rows);
  return { ...WITHOUT_LINES, state: JSON.stringify(found.after) };
}
