import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { deleteLeftScratch, withScratchFolder } from "../../../adapters/agent-logs/scratch-folder.ts";
import { inFolder } from "./in-folder.rig.ts";

const MODULE = new URL("../../../adapters/agent-logs/scratch-folder.ts", import.meta.url).href;

/** Starts a process that holds a copy in the folder, and waits until it does. */
async function holdCopy(path: string) {
  const script = `
    import { writeFileSync } from "node:fs";
    import { withScratchFolder } from ${JSON.stringify(MODULE)};
    await withScratchFolder(process.argv[1], async (folder) => {
      writeFileSync(folder + "/copy.db", "copy");
      console.log("held");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit") as Promise<[code: number | null, signal: string | null]>;
  await once(child.stdout, "data");
  assert.ok(existsSync(join(path, "copy.db")));
  return { child, ended };
}

const onPosix = { skip: process.platform === "win32" && "Windows ends a process without a signal" };

describe("withScratchFolder()", () => {
  it("runs the work with an empty private folder, and deletes it", () =>
    inFolder(async (folder) => {
      const path = join(folder.path, "home", "import");
      folder.write("home/import/copy.db", "left by a killed process");
      const found = await withScratchFolder(path, async (given) => {
        assert.equal(given, path);
        assert.deepEqual(readdirSync(given), []);
        if (process.platform !== "win32") assert.equal(statSync(given).mode & 0o777, 0o700);
        writeFileSync(join(given, "copy.db"), "");
        return 7;
      });
      assert.deepEqual([found, existsSync(path)], [7, false]);
      const failed = withScratchFolder(path, () => Promise.reject(new Error("unreadable")));
      await assert.rejects(failed, /unreadable/);
      assert.equal(existsSync(path), false);
    }));

  it("runs one work at a time", () =>
    inFolder(async (folder) => {
      const path = join(folder.path, "import");
      const seen: string[] = [];
      const work = (name: string) =>
        withScratchFolder(path, async (given) => {
          seen.push(`${name} ${readdirSync(given).length}`);
          writeFileSync(join(given, name), "");
          await new Promise((resolve) => setImmediate(resolve));
          seen.push(`${name} ${readdirSync(given).length}`);
        });
      await Promise.all([work("a"), work("b")]);
      assert.deepEqual(seen, ["a 0", "a 1", "b 0", "b 1"]);
    }));

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    it(`deletes the folder if ${signal} ends the process`, onPosix, () =>
      inFolder(async (folder) => {
        const path = join(folder.path, "import");
        const { child, ended } = await holdCopy(path);
        child.kill(signal);
        assert.deepEqual([(await ended)[1], existsSync(path)], [signal, false]);
      }),
    );
});

describe("deleteLeftScratch()", () => {
  it("deletes what a killed process left, and nothing while a process uses it", () =>
    inFolder(async (folder) => {
      const path = join(folder.path, "import");
      await deleteLeftScratch(path);
      assert.deepEqual(readdirSync(folder.path), [], "nothing is created");
      const { child, ended } = await holdCopy(path);
      await deleteLeftScratch(path);
      assert.ok(existsSync(join(path, "copy.db")), "a folder in use was deleted");
      child.kill("SIGKILL");
      await ended;
      assert.ok(existsSync(join(path, "copy.db")), "the kill left no copy");
      await deleteLeftScratch(path);
      assert.equal(existsSync(path), false);
    }));
});
