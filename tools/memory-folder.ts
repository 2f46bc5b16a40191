import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, globSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const MEMORY = "/dev/shm";
const PREFIX = "meter-tests-";
/** With less room, a run could fill it. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * Creates a folder in memory for the temporary files of a run, which is removed when this process exits. Returns null where there
 * is too little memory, or where it can't contain programs. On a disk, each commit of a test's database waits for the disk.
 */
export function createMemoryFolder(): string | null {
  if (!existsSync(MEMORY)) return null;
  removeOldFolders();
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < ROOM_BYTES) return null;
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
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
  for (const name of globSync(`${PREFIX}*`, { cwd: MEMORY })) {
    if (existsSync(join("/proc", name.slice(PREFIX.length)))) continue;
    try {
      rmSync(join(MEMORY, name), { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    }
  }
}
