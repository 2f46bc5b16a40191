import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { stateFile } from "../../../cli/daemon/daemon-process.ts";
import { describeCrash, findInterruption, markStart, readCrash } from "../../../cli/daemon/supervision.ts";

describe("findInterruption()", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "supervision-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("finds a daemon that was killed before it announced itself, and none that ended in order", () => {
    const ended = markStart(home, {});
    utimesSync(join(home, "daemon.starting"), 1_000, 1_000);
    assert.equal(findInterruption(home, null), 1_000_000);
    ended();
    assert.equal(findInterruption(home, null), null);
  });

  it("finds a daemon that left daemon.json, at the time of the crash if the script saw it", () => {
    writeFileSync(stateFile(home), "{}");
    utimesSync(stateFile(home), 2_000, 2_000);
    assert.equal(findInterruption(home, null), 2_000_000);
    assert.equal(findInterruption(home, readCrash({ METER_CRASH: "139 3000 1" })), 3_000_000);
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
