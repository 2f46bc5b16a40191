// Node runs the code in a compile cache without checking who wrote it, so the cache is in a folder that only this user can
// write to. Plain JavaScript, because it runs before types are stripped.
const { lstatSync, realpathSync, statfsSync } = process.getBuiltinModule("node:fs");
const { homedir } = process.getBuiltinModule("node:os");
const { dirname, isAbsolute, join, relative } = process.getBuiltinModule("node:path");

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
/** Below this much free space there is no cache, which takes 7 MB: records need the space. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/**
 * Returns the folder for compiled code: `compile-cache` in meter's home, with links resolved. Returns null, which means no
 * cache, if `NODE_DISABLE_COMPILE_CACHE` is 1, if the disk is nearly full, if this user does not own the folder with mode 0700, or
 * if a user other than this one and root can rename a folder above it. `prepareHome()` creates the folder when a daemon starts.
 */
export function findCompileCacheFolder(env, uid = process.geteuid?.() ?? null, statDisk = statfsSync) {
  if (env.NODE_DISABLE_COMPILE_CACHE === "1") return null;
  try {
    const home = env.METER_HOME || join(homedir(), ".meter");
    // Commands refuse a relative home.
    if (!isAbsolute(home)) return null;
    const folder = join(realpathSync(home), "compile-cache");
    const stats = lstatSync(folder);
    if (!stats.isDirectory()) return null;
    const disk = statDisk(folder);
    if (disk.bavail * disk.bsize < MIN_FREE_BYTES) return null;
    // Windows has no modes. There, only the user's profile is known to be closed to other users.
    if (uid === null) return isBelow(realpathSync(homedir()), folder) ? folder : null;
    if (stats.uid !== uid || (stats.mode & 0o077) !== 0) return null;
    return foldersAbove(folder).every((above) => isClosedToOthers(lstatSync(above), uid)) ? folder : null;
  } catch {
    return null;
  }
}

function isBelow(folder, path) {
  const relativePath = relative(folder, path);
  return relativePath !== "" && !relativePath.startsWith("..") && !isAbsolute(relativePath);
}

function foldersAbove(path) {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

/** In a sticky folder, such as `/tmp`, only the owner of an entry can rename it. */
function isClosedToOthers(stats, uid) {
  if (stats.uid !== uid && stats.uid !== 0) return false;
  return (stats.mode & WRITABLE_BY_OTHERS) === 0 || (stats.mode & STICKY) !== 0;
}
