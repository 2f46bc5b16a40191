import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { stateFile } from "../../../cli/daemon/daemon-process.ts";
import {
  describeCrash,
  findInterruption,
  findMarkedDaemon,
  findSupervisor,
  markStart,
  readCrash,
} from "../../../cli/daemon/supervision.ts";

describe("findInterruption()", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "supervision-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("finds a daemon that was killed before it announced itself, and none that stopped normally", () => {
    const mark = markStart(home, {});
    utimesSync(join(home, "daemon.starting"), 1_000, 1_000);
    assert.equal(findInterruption(home, null), 1_000_000);
    mark.remove();
    assert.equal(findInterruption(home, null), null);
  });

  it("finds a daemon that left daemon.json, at the time of the crash if the script saw it", () => {
    writeFileSync(stateFile(home), "{}");
    utimesSync(stateFile(home), 2_000, 2_000);
    assert.equal(findInterruption(home, null), 2_000_000);
    assert.equal(findInterruption(home, readCrash({ METER_CRASH: "139 3000 1" })), 3_000_000);
  });
});

describe("findMarkedDaemon()", () => {
  it("finds the daemon that left the mark, and no other program with its process id", async () => {
    const home = mkdtempSync(join(tmpdir(), "supervision-"));
    const words = ["-e", "setInterval(() => {}, 1000)", "--", "start", "--foreground"];
    const daemon = spawn(process.execPath, words, { stdio: "ignore" });
    const other = spawn(process.execPath, words.slice(0, 2), { stdio: "ignore" });
    const mark = (text: string) => writeFileSync(join(home, "daemon.starting"), text);
    try {
      await Promise.all([once(daemon, "spawn"), once(other, "spawn")]);
      for (const [text, found] of [
        [` ${daemon.pid}`, daemon.pid],
        [`${other.pid} ${daemon.pid}`, daemon.pid],
        [` ${other.pid}`, null],
        // Of an older daemon: the script alone.
        [`${daemon.pid}`, null],
        ["", null],
        ["damaged", null],
      ] as const) {
        mark(text);
        assert.equal(await findMarkedDaemon(home), found, text);
        assert.equal(await findSupervisor(home), null);
      }
      markStart(home, { METER_SUPERVISOR: "17" }).remove();
      assert.equal(await findMarkedDaemon(home), null);
    } finally {
      daemon.kill();
      other.kill();
      rmSync(home, { recursive: true, force: true });
    }
  });
});

describe("readCrash()", () => {
  it("names the signal, the exit code, the proxy that kept crashing, or that it could not start", () => {
    const crashes = ["139", "1", "76", "78"].map((code) => readCrash({ METER_CRASH: `${code} 3000 2` }));
    assert.deepEqual(
      crashes.map((crash) => crash?.cause),
      ["SIGSEGV", "exit code 1", "its proxy kept crashing", "it could not start"],
    );
    assert.deepEqual(
      crashes.map((crash) => crash && describeCrash(crash).split(" at ")[0]),
      [
        "The daemon crashed (SIGSEGV)",
        "The daemon crashed (exit code 1)",
        "The daemon crashed (its proxy kept crashing)",
        "The daemon could not start",
      ],
    );
    assert.equal(readCrash({}), null);
  });
});
