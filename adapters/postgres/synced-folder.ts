import { closeSync, fsyncSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/**
 * The parameters with which PGlite starts PostgreSQL, without its `-F`, which switches `fsync` off. The log is synced by fsync(2),
 * because PGlite's fdatasync(2) does nothing.
 */
export function syncingParameters(defaults: readonly string[]): string[] {
  return [...defaults.filter((word) => word !== "-F"), "-c", "fsync=on", "-c", "wal_sync_method=fsync"];
}

/** An open file of Emscripten. A folder has no descriptor of the system. */
interface OpenFile {
  readonly nfd?: number;
  readonly node: unknown;
}

/** Emscripten's file system on Node's, which syncs nothing: it has no `fsync`. */
interface NodeFileSystem {
  readonly stream_ops: { fsync?(file: OpenFile): number };
  realPath(node: unknown): string;
}

/** Adds `fsync` to the file system of Emscripten's module, so that PostgreSQL's syncs reach the disk. */
export function addFileSync(module: object): void {
  const { NODEFS } = module as { NODEFS: NodeFileSystem };
  NODEFS.stream_ops.fsync = ({ nfd, node }) => {
    if (nfd === undefined) syncPath(NODEFS.realPath(node));
    else fsyncSync(nfd);
    return 0;
  };
}

/** Syncs every file and folder below a folder: PGlite unpacks a new database without doing so. */
export function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() || entry.isDirectory()) syncPath(join(entry.parentPath, entry.name));
  syncPath(folder);
}

/** Syncs a file or folder by its path. Windows can't open folders, and stores their names with its journal. */
function syncPath(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
