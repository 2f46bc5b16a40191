import type { Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { LOG_FORMATS } from "../../core/metering/agent-logs/log-formats.ts";
import type { LogLocation } from "../../core/metering/agent-logs/log-locations.ts";
import type { Millis } from "../../core/values/time.ts";

/** The identity and the size of a file. The size of a database includes its -wal. */
export interface LogFileFacts {
  /** Device and inode; null on file systems without them. */
  readonly fileId: string | null;
  readonly size: number;
  readonly modifiedAt: Millis;
}

/** A file of an agent. */
export interface FoundLog extends LogFileFacts, Pick<LogLocation, "agent" | "format"> {
  readonly path: string;
  /** The path below the folder of the logs, with `/` between folders. */
  readonly relativePath: string;
}

/** How deep folders are searched. */
const MAX_DEPTH = 8;

/** Finds the files of the locations, each once. Folders that do not exist or can't be read have none. Symbolic links are not followed. */
export async function findLogFiles(locations: readonly LogLocation[]): Promise<FoundLog[]> {
  const found = new Map<string, FoundLog>();
  for (const location of locations) {
    // The folder itself may be a link, as in a repository of settings.
    const root = await realpath(location.folder).catch(() => null);
    if (root === null) continue;
    for await (const relativePath of walk(root, "", MAX_DEPTH)) {
      if (!location.files.test(relativePath)) continue;
      const path = join(root, ...relativePath.split("/"));
      const facts = await readLogFacts(path, LOG_FORMATS[location.format].kind === "rows");
      const { agent, format } = location;
      if (facts !== null) found.set(`${format} ${path}`, { ...facts, agent, format, path, relativePath });
    }
  }
  return [...found.values()];
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
