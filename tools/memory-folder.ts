import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, globSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const MEMORY_FILE_SYSTEM = "/dev/shm";
const PREFIX = "meter-tests-";
/** The free space that a run needs. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * Creates a folder in memory for the temporary files of a run: on a disk, each commit of a test's database would wait for the disk. The
 * folder is removed when this process exits. Returns null if too little memory is free, or if no program can run from the folder.
 */
export function createMemoryFolder(): string | null {
  if (!existsSync(MEMORY_FILE_SYSTEM)) return null;
  removeOldFolders();
  const { bavail, bsize } = statfsSync(MEMORY_FILE_SYSTEM);
  if (bavail * bsize < NEEDED_BYTES) return null;
  const folder = join(MEMORY_FILE_SYSTEM, `${PREFIX}${process.pid}`);
  mkdirSync(folder);
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  // Like `/tmp`: PostgreSQL runs as another user.
  chmodSync(folder, 0o1777);
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  return spawnSync(program).status === 0 ? folder : null;
}

/** Removes the folders of runs that were killed. One in which a test had mounted a small disk stays. */
function removeOldFolders(): void {
  for (const name of globSync(`${PREFIX}*`, { cwd: MEMORY_FILE_SYSTEM })) {
    if (existsSync(join("/proc", name.slice(PREFIX.length)))) continue;
    try {
      rmSync(join(MEMORY_FILE_SYSTEM, name), { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    }
  }
}
