import type { Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { LOG_FORMATS } from "../../core/metering/agent-logs/log-formats.ts";
import type { LogLocation, ReportLocation } from "../../core/metering/agent-logs/log-locations.ts";
import type { Millis } from "../../core/values/time.ts";

/** The identity and the size of a file. The size of a database includes its -wal. */
export interface LogFileFacts {
  /** Device and inode; null on file systems without them. */
  readonly fileId: string | null;
  readonly size: number;
  readonly modifiedAt: Millis;
}

/** A file of a location. */
export interface FoundFile extends LogFileFacts {
  readonly path: string;
  /** The path below the folder of the location, with `/` between folders. */
  readonly relativePath: string;
}

/** A log of an agent. */
export interface FoundLog extends FoundFile, Pick<LogLocation, "agent" | "format"> {}

/** How deep folders are searched. */
const MAX_DEPTH = 8;

/** Finds the files of the locations, each once. Folders that do not exist or can't be read have none. Symbolic links are not followed. */
export async function findLogFiles(locations: readonly LogLocation[]): Promise<FoundLog[]> {
  const found = new Map<string, FoundLog>();
  for (const location of locations) {
    const { agent, format } = location;
    for await (const file of filesOf(location, LOG_FORMATS[format].kind === "rows"))
      found.set(`${format} ${file.path}`, { ...file, agent, format });
  }
  return [...found.values()];
}

/** Finds the files of the locations of reports, as `findLogFiles()`. */
export async function findReportFiles(locations: readonly ReportLocation[]): Promise<FoundFile[]> {
  const found = new Map<string, FoundFile>();
  for (const location of locations)
    for await (const file of filesOf(location, false)) found.set(file.path, file);
  return [...found.values()];
}

async function* filesOf({ folder, files }: ReportLocation, isDatabase: boolean): AsyncGenerator<FoundFile> {
  // The folder itself may be a link, as in a repository of settings.
  const root = await realpath(folder).catch(() => null);
  if (root === null) return;
  for await (const relativePath of walk(root, "", MAX_DEPTH)) {
    if (!files.test(relativePath)) continue;
    const path = join(root, ...relativePath.split("/"));
    const facts = await readLogFacts(path, isDatabase);
    if (facts !== null) yield { ...facts, path, relativePath };
  }
}

async function* walk(root: string, folder: string, depth: number): AsyncGenerator<string> {
  let entries: Dirent[];
  try {
    entries = await readdir(join(root, folder), { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && depth > 1) yield* walk(root, path, depth - 1);
  }
}

/** Reads the facts of a file. Null if it no longer exists, or is not a file. */
export async function readLogFacts(path: string, isDatabase: boolean): Promise<LogFileFacts | null> {
  const file = await lstat(path).catch(() => null);
  if (file === null || !file.isFile()) return null;
  const log = isDatabase ? await stat(`${path}-wal`).catch(() => null) : null;
  return {
    fileId: file.ino === 0 ? null : `${file.dev}:${file.ino}`,
    size: file.size + (log?.size ?? 0),
    modifiedAt: Math.max(Math.trunc(file.mtimeMs), Math.trunc(log?.mtimeMs ?? 0)),
  };
}
