import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { type KeptFile, keepFiles } from "../../../../cli/commands/start/keep-files.ts";

describe("keepFiles()", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-keep-"));
    path = join(folder, "daemon.json");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Keeps the files with a clock that waits for each check. */
  function keep(files: readonly KeptFile[], isOwnHome = () => true) {
    const clock = createManualClock(0);
    const reports: string[] = [];
    const release = keepFiles(files, {
      isOwnHome: async () => isOwnHome(),
      report: (text) => reports.push(text),
      clock,
    });
    return {
      reports,
      clock,
      release,
      async check() {
        clock.advance(2_000);
        while (clock.nextTimerMs() === null) await new Promise((resolve) => setImmediate(resolve));
      },
    };
  }

  const damages: Readonly<Record<string, (file: string) => void>> = {
    deleted: (file) => rmSync(file),
    emptied: (file) => writeFileSync(file, ""),
    "replaced by another": (file) => {
      rmSync(file);
      writeFileSync(file, "another text\n");
    },
  };
  for (const [what, damage] of Object.entries(damages))
    it(`writes a file again that was ${what}`, async () => {
      const kept = keep([{ path, text: "a text\n" }]);
      assert.equal(readFileSync(path, "utf8"), "a text\n");
      damage(path);
      await kept.check();
      assert.equal(readFileSync(path, "utf8"), "a text\n");
      kept.release();
      assert.equal(kept.clock.nextTimerMs(), null);
      assert.deepEqual(kept.reports, []);
    });

  it("does not write a file that has its text", async () => {
    writeFileSync(path, "a text\n");
    const { ino } = statSync(path);
    const kept = keep([{ path, text: "a text\n", isWritten: true }]);
    await kept.check();
    await kept.check();
    assert.equal(statSync(path).ino, ino);
    kept.release();
  });

  it("reports once that it can't write, and writes when it can", async () => {
    mkdirSync(join(path, "in the way"), { recursive: true });
    const kept = keep([{ path, text: "a text\n" }]);
    await kept.check();
    assert.equal(kept.reports.length, 1);
    assert.ok(
      kept.reports[0]?.startsWith(`Commands can't find this daemon because ${path} can't be written: `),
    );
    rmSync(path, { recursive: true });
    await kept.check();
    assert.equal(readFileSync(path, "utf8"), "a text\n");
    kept.release();
  });

  it("writes nothing into a home that is another daemon's by now", async () => {
    const kept = keep([{ path, text: "a text\n" }], () => false);
    rmSync(path);
    await kept.check();
    assert.equal(existsSync(path), false);
    kept.release();
  });
});
