import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { StoreError } from "../../core/ports/sqlite.ts";
import { makeFolder } from "../files/make-folder.ts";

/** Files that belong together; the rollback journal only exists before the first switch to WAL. */
const companions = ["", "-wal", "-shm", "-journal"];

const posix = process.platform !== "win32";

function statOrNull(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw new StoreError("cannot_open", `the database can't be looked at: ${path}`, { cause: error });
  }
}

function refuse(path: string, why: string): never {
  throw new StoreError("unsafe_file", `the database is refused, because ${why}: ${path}`);
}

/** A file that somebody else could have put there, or could change, is refused: links, foreign owners. */
function checkFile(path: string, stats: Stats): void {
  if (stats.isSymbolicLink()) refuse(path, "it is a symbolic link");
  if (!stats.isFile()) refuse(path, "it is not a regular file");
  if (stats.nlink > 1) refuse(path, "it has a second name (hard link)");
  const owner = process.geteuid?.();
  if (owner !== undefined && stats.uid !== owner) refuse(path, `it belongs to user ${stats.uid}`);
}

/**
 * Makes the file (0600) and its folder (0700) or checks those that exist. True where it was made.
 *
 * Decision: an existing folder keeps its mode, which may be the user's home, but one in which everybody may rename files
 * is refused unless sticky; a file that others may read or write is set back to 0600.
 */
export function prepareDatabaseFile(path: string, readOnly: boolean): boolean {
  if (path === ":memory:") return false;
  const stats = statOrNull(path);
  const folder = dirname(path);
  try {
    if (!readOnly) makeFolder(folder);
    const folderMode = statSync(folder).mode;
    if (posix && (folderMode & 0o022) !== 0 && (folderMode & 0o1000) === 0) {
      refuse(folder, "others may write to its folder");
    }
    if (stats === null) {
      if (readOnly) throw new StoreError("missing", `there is no database yet: ${path}`);
      // Made before SQLite opens it, so that it is never readable by others, whatever the umask.
      closeSync(openSync(path, "wx", 0o600));
      return true;
    }
    checkFile(path, stats);
    if (posix && !readOnly && (stats.mode & 0o077) !== 0) chmodSync(path, 0o600);
    return false;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { code } = error as { code?: unknown };
    // Another process made it in between: it is checked like any other file.
    if (code === "EEXIST") {
      checkFile(path, lstatSync(path));
      return false;
    }
    if (code === "ENOENT" && readOnly) throw new StoreError("missing", `there is no database yet: ${path}`);
    if (code === "ENOSPC")
      throw new StoreError("disk_full", `no space for the database: ${path}`, { cause: error });
    if (code === "EROFS") {
      throw new StoreError("read_only", `the database's folder is read-only: ${path}`, { cause: error });
    }
    throw new StoreError("cannot_open", `the database can't be made: ${path}`, { cause: error });
  }
}

/** Whether the file has not one byte: SQLite takes it for a new database, and deletes the -wal that may lie beside it. */
export function isEmptyFile(path: string): boolean {
  return path !== ":memory:" && statOrNull(path)?.size === 0;
}

/** Takes away a file that was made for a database which then could not be written. */
export function removeEmptyFile(path: string): void {
  for (const end of companions) if (isEmptyFile(path + end)) rmSync(path + end, { force: true });
}

/**
 * The address under which SQLite reads the file as one that nobody writes, so without making a -shm: for a file system
 * that is read-only. `null` while there is a -wal, since then somebody may have it open, or its last rows are in there.
 */
export function immutableAddress(path: string): string | null {
  if (path === ":memory:" || statOrNull(`${path}-wal`) !== null) return null;
  return `${pathToFileURL(path).href}?immutable=1`;
}

/** Whether the folder that the file lies in is there. */
export function hasFolder(path: string): boolean {
  return existsSync(dirname(path));
}

/** Device and inode: they change when a file is restored or copied over, and stay through every write. */
export function fileIdentity(path: string): string | null {
  const stats = path === ":memory:" ? null : statOrNull(path);
  return stats === null || stats.ino === 0 ? null : `${stats.dev}:${stats.ino}`;
}

/** The name, with a number where a database of that name is there. */
export function freeName(name: string): string {
  let free = name;
  for (let n = 2; companions.some((end) => existsSync(free + end)); n++) free = `${name}-${n}`;
  return free;
}

/**
 * Renames database, -wal and -shm. Nothing is overwritten: a taken name gets a number. The -wal goes first: left behind by
 * a crash in between, it would be replayed into the next database of that name.
 */
export function setAside(path: string, suffix: string): string {
  const target = freeName(`${path}.${suffix}`);
  for (const end of companions.toReversed()) {
    if (statOrNull(path + end) !== null) renameSync(path + end, target + end);
  }
  return target;
}
