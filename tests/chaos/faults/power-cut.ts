import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { LOG_SYNC_DELAY_MS } from "../../../daemon/store/log-sync.ts";
import { waitFor } from "../../end-to-end/meter-process.rig.ts";
import type { FaultRig } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";

const CUTS = 8;
const CALLS_EVERY_MS = 250;

/**
 * How long a sync of the disk, and the copy that simulates the power cut, may take on a busy machine, in milliseconds.
 */
const DISK_MS = 1_000;

const run = (command: string, ...words: string[]) => execFileSync(command, words, { stdio: "pipe" });

function mountImage(image: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  run("mount", "-o", "loop", image, folder);
}

/**
 * A disk whose content can be copied at one instant, as a power cut would leave it: an ext4 file system in a file of an XFS
 * one, which clones files. What the kernel has not written to the inner disk is not in the copy.
 */
function openDisk(folder: string) {
  const [outer, inner] = [join(folder, "outer"), join(folder, "inner")];
  const image = join(outer, "inner.img");
  const mounted: string[] = [];
  const mount = (file: string, place: string) => {
    mountImage(file, place);
    mounted.push(place);
  };
  const close = () => {
    for (const place of mounted.splice(0).reverse()) run("umount", "-l", place);
  };
  try {
    run("truncate", "-s", "1G", join(folder, "outer.img"));
    run("mkfs.xfs", "-q", "-m", "reflink=1", join(folder, "outer.img"));
    mount(join(folder, "outer.img"), outer);
    run("truncate", "-s", "256M", image);
    run("mkfs.ext4", "-q", image);
    mount(image, inner);
  } catch (cause) {
    close();
    throw cause;
  }
  let cuts = 0;
  return {
    folder: inner,
    close,
    /** Runs the work on the disk as it is after a power cut at this moment. */
    afterCut<T>(work: (folder: string) => T): T {
      const copy = join(outer, `cut-${(cuts += 1)}.img`);
      run("cp", "--reflink=always", image, copy);
      const place = join(folder, `cut-${cuts}`);
      mountImage(copy, place);
      try {
        return work(place);
      } finally {
        run("umount", place);
        rmSync(copy);
      }
    },
  };
}

function obstacle(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux to mount disks";
  const folder = mkdtempSync(join(tmpdir(), "meter-disk-"));
  try {
    openDisk(folder).close();
    return null;
  } catch (cause) {
    return `needs loop devices, mkfs.xfs and mkfs.ext4: ${(cause as Error).message.split("\n")[0]}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the responses of the calls that have rows in a home's database. */
function storedAnswers(home: string): Set<unknown> {
  const database = new DatabaseSync(databaseFile(home));
  try {
    assert.deepEqual({ ...database.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
    const rows = database.prepare("SELECT provider_response_id AS id FROM requests").all();
    return new Set(rows.map(({ id }) => id));
  } finally {
    database.close();
  }
}

async function cutAndCount(rig: FaultRig, disk: ReturnType<typeof openDisk>): Promise<void> {
  const home = rig.home(join(disk.folder, "home"));
  const meter = await rig.start(home);
  const answered: { id: string | null; atMs: number }[] = [];
  let over = false;
  const calling = (async () => {
    while (!over) {
      const { responseId } = await rig.call(meter);
      answered.push({ id: responseId, atMs: performance.now() });
      await delay(CALLS_EVERY_MS);
    }
  })();
  const losses: { lost: number; oldestMs: number }[] = [];
  try {
    for (let cut = 0; cut < CUTS; cut += 1) {
      // At a random time between two syncs.
      const wanted = answered.length + 16 + (cut % 4);
      await waitFor("some calls", () => answered.length >= wanted);
      const [before, cutAtMs] = [[...answered], performance.now()];
      const stored = disk.afterCut((folder) => storedAnswers(join(folder, "home")));
      const lost = before.filter(({ id }) => !stored.has(id));
      losses.push({ lost: lost.length, oldestMs: Math.round(cutAtMs - (lost[0]?.atMs ?? cutAtMs)) });
    }
  } finally {
    over = true;
    await calling;
    await meter.stop();
  }
  const oldestMs = Math.max(...losses.map((each) => each.oldestMs));
  const lost = losses.reduce((sum, each) => sum + each.lost, 0);
  process.stderr.write(
    `power cut: ${CUTS} cuts under ${answered.length} calls lost ${lost}; the oldest was answered ${oldestMs} ms before its cut\n`,
  );
  assert.ok(
    oldestMs <= LOG_SYNC_DELAY_MS + DISK_MS,
    `a call answered ${oldestMs} ms before the cut was lost`,
  );
}

/** Faults by a power cut. */
export const powerCut: FaultScenario = {
  name: "power-cut",
  fault: "the power goes while calls are made",
  data: "what was answered more than a second earlier is a row; the database is whole",
  shown: "nothing; after the next start the rows are there",
  isQuick: false,
  obstacle,
  async run(rig) {
    const disk = openDisk(rig.folder("disk"));
    try {
      await cutAndCount(rig, disk);
    } finally {
      disk.close();
    }
  },
};
