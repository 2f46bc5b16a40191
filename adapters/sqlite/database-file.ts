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
import { quoteForShell } from "../../core/values/text/shell-words.ts";
import { makeFolder } from "../files/make-folder.ts";

/** The files of a database. The rollback journal exists only before the first switch to WAL. */
const companions = ["", "-wal", "-shm", "-journal"];

const posix = process.platform !== "win32";

function statOrNull(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw new StoreError("cannot_open", `could not read the database's file: ${path}`, { cause: error });
  }
}

function refuse(path: string, why: string): never {
  throw new StoreError("unsafe_file", `refused to open the database, because ${why}: ${path}`);
}

/** Rejects a file that another user could have created or could change: links and foreign owners. */
function checkFile(path: string, stats: Stats): void {
  if (stats.isSymbolicLink()) refuse(path, "it is a symbolic link");
  if (!stats.isFile()) refuse(path, "it is not a regular file");
  if (stats.nlink > 1) refuse(path, "it has a second name (hard link)");
  const owner = process.geteuid?.();
  if (owner !== undefined && stats.uid !== owner) refuse(path, `it belongs to user ${stats.uid}`);
}

/**
 * Rejects a file whose mode does not let this user read it, or write to it: SQLite would say of neither what is wrong, and open the latter
 * for reading only. Root may read and write every file.
 */
function checkMode(path: string, { mode }: Stats, readOnly: boolean): void {
  if (process.geteuid?.() === 0) return;
  if (posix && (mode & 0o400) === 0)
    throw new StoreError(
      "cannot_open",
      `the database's file can't be read. Allow reading it: chmod u+rw ${quoteForShell(path)}`,
    );
  if (readOnly || (mode & 0o200) !== 0) return;
  const command = posix ? `chmod u+w ${quoteForShell(path)}` : `attrib -r "${path}"`;
  throw new StoreError("read_only", `the database's file is read-only. Allow writing to it: ${command}`);
}

/**
 * Sets the mode of the database and of its -wal and -shm to 0600. SQLite gives these the mode that the database has: those of one that was
 * read-only when a command read it would make each write fail.
 */
function resetModes(path: string): void {
  for (const file of companions.map((end) => path + end)) {
    const stats = statOrNull(file);
    const isOwn = stats?.isFile() === true && stats.uid === process.geteuid?.();
    if (isOwn && (stats.mode & 0o777) !== 0o600) chmodSync(file, 0o600);
  }
}

/**
 * Creates the file (0600) and its folder (0700), or checks those that exist. Returns whether it created the file.
 *
 * Decision: an existing folder keeps its mode, because it may be the user's home. A folder in which others may rename files
 * is rejected unless it is sticky. A file with another mode is reset to 0600.
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
      // Created before SQLite opens it, so that others can never read it, regardless of the umask.
      closeSync(openSync(path, "wx", 0o600));
      return true;
    }
    checkFile(path, stats);
    checkMode(path, stats, readOnly);
    if (readOnly) return false;
    if (posix) resetModes(path);
    return false;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { code } = error as { code?: unknown };
    // Another process created it meanwhile, so it is checked like any existing file.
    if (code === "EEXIST") {
      checkFile(path, lstatSync(path));
      return false;
    }
    if (code === "ENOENT" && readOnly) throw new StoreError("missing", `there is no database yet: ${path}`);
    if (code === "ENOSPC")
      throw new StoreError("disk_full", `no disk space for the database: ${path}`, { cause: error });
    if (code === "EROFS") {
      throw new StoreError("read_only", `the database's folder is read-only: ${path}`, { cause: error });
    }
    throw new StoreError("cannot_open", `could not create the database: ${path}`, { cause: error });
  }
}

/** Whether the file is empty. SQLite treats an empty file as a new database and deletes a -wal next to it. */
export function isEmptyFile(path: string): boolean {
  return path !== ":memory:" && statOrNull(path)?.size === 0;
}

/** Deletes the empty files of a database that could not be written. */
export function removeEmptyFile(path: string): void {
  for (const end of companions) if (isEmptyFile(path + end)) rmSync(path + end, { force: true });
}

/**
 * Returns a URI with which SQLite opens the file as immutable, without creating a -shm, for a read-only file system.
 * Returns `null` if there is a -wal, because another process may have the database open, or the -wal contains its latest
 * rows.
 */
export function immutableAddress(path: string): string | null {
  if (path === ":memory:" || statOrNull(`${path}-wal`) !== null) return null;
  return `${pathToFileURL(path).href}?immutable=1`;
}

/** Whether the folder of the file exists. */
export function hasFolder(path: string): boolean {
  return existsSync(dirname(path));
}

/** Returns device and inode. They change when the file is restored or copied, but not when it is written. */
export function fileIdentity(path: string): string | null {
  const stats = path === ":memory:" ? null : statOrNull(path);
  return stats === null || stats.ino === 0 ? null : `${stats.dev}:${stats.ino}`;
}

/** Returns the name, with a number appended if a database with this name exists. */
export function freeName(name: string): string {
  let free = name;
  for (let n = 2; companions.some((end) => existsSync(free + end)); n++) free = `${name}-${n}`;
  return free;
}

/**
 * Renames the database, -wal and -shm, without overwriting anything: a number is appended to a name that is taken. The -wal
 * is renamed first, because after a crash in between, SQLite would replay it into the next database with the old name.
 */
export function setAside(path: string, suffix: string): string {
  const target = freeName(`${path}.${suffix}`);
  for (const end of companions.toReversed()) {
    if (statOrNull(path + end) !== null) renameSync(path + end, target + end);
  }
  return target;
}
