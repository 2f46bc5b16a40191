import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findLockHolder } from "../../adapters/lock/exclusive-lock.ts";
import {
  lockFile,
  type RunningDaemon,
  readToken,
  stateFile,
  tokenFile,
} from "../../cli/daemon/daemon-process.ts";
import { findHolder } from "../../cli/daemon/find-holder.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

/** Runs the work with a daemon on a home of its own. */
async function withDaemon(work: (meter: MeterProcess) => Promise<void>): Promise<void> {
  const meter = await startMeter(createHome(["[proxy]", "port = 0", "[api]", "port = 0"]));
  try {
    await work(meter);
  } finally {
    await meter.stop();
    removeHome(meter.home);
  }
}

/** Stops the daemon with `meter stop`, which must not end it by force. */
async function assertStops(meter: MeterProcess): Promise<void> {
  const { code, stdout } = await meter.run(["stop"]);
  assert.deepEqual([code, stdout], [0, "Stopped.\n"]);
  assert.equal((await meter.ended).code, 0);
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  deleted: (path) => rmSync(path),
  empty: (path) => writeFileSync(path, ""),
  "cut off": (path) => writeFileSync(path, readFileSync(path, "utf8").slice(0, 50)),
};

describe("a daemon whose daemon.json is damaged", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  for (const [what, damage] of Object.entries(damages))
    it(`is found and stopped: ${what}`, () =>
      withDaemon(async (meter) => {
        const before = readFileSync(stateFile(meter.home), "utf8");
        damage(stateFile(meter.home));
        const { code, stdout } = await meter.run(["status"]);
        assert.deepEqual([code, stdout.split("\n", 1)], [0, ["Metering."]]);
        assert.equal(readFileSync(stateFile(meter.home), "utf8"), before);
        damage(stateFile(meter.home));
        await assertStops(meter);
      }));

  it("is stopped, and not the program whose process id the file names", () =>
    withDaemon(async (meter) => {
      const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      try {
        const state = JSON.parse(readFileSync(stateFile(meter.home), "utf8")) as RunningDaemon;
        writeFileSync(
          stateFile(meter.home),
          JSON.stringify({ ...state, pid: other.pid, started_at: "another" }),
        );
        await assertStops(meter);
        assert.deepEqual([other.exitCode, other.signalCode], [null, null]);
      } finally {
        other.kill();
      }
    }));

  it("is named and stopped although it can't write the file again", () =>
    withDaemon(async (meter) => {
      const path = stateFile(meter.home);
      rmSync(path);
      mkdirSync(join(path, "in the way"), { recursive: true });
      const pid = findLockHolder(lockFile(meter.home)) === null ? null : meter.pid;
      const found = await findHolder(meter.home);
      assert.deepEqual([found?.pid, found?.announcement], [meter.pid, "damaged"]);
      assert.equal(found?.isCertain, pid !== null);
      const status = await meter.run(["status"]);
      assert.equal(status.code, 1);
      assert.match(
        status.stdout.replaceAll("\n", " "),
        new RegExp(
          `^A daemon \\(process ${meter.pid}\\) is using this home but can't be found, because daemon\\.json is damaged\\. Restart it: meter stop && meter start `,
        ),
      );
      const run = await meter.run(["run", "--", process.execPath, "--version"]);
      assert.deepEqual([run.code, run.stdout], [1, ""]);
      assert.match(run.stderr, /daemon\.json is damaged\. Restart it: meter stop && meter start\n$/);
      await assertStops(meter);
    }));
});

describe("a daemon whose other files are deleted", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  it("is asked once its token is there again", () =>
    withDaemon(async (meter) => {
      rmSync(tokenFile(meter.home));
      assert.throws(
        () => readToken(meter.home),
        /loopback-token is missing\. A running daemon writes it again/,
      );
      const { code, stdout } = await meter.run(["status"]);
      assert.deepEqual([code, stdout.split("\n", 1)], [0, ["Metering."]]);
    }));

  it("writes its token again, and takes the lock of a new file", () =>
    withDaemon(async (meter) => {
      const token = readFileSync(tokenFile(meter.home), "utf8");
      for (const file of [tokenFile(meter.home), lockFile(meter.home), join(meter.home, "daemon.starting")])
        rmSync(file);
      await waitFor("the token", () => statSync(tokenFile(meter.home), { throwIfNoEntry: false }));
      assert.equal(readFileSync(tokenFile(meter.home), "utf8"), token);
      assert.notEqual(await findHolder(meter.home), null);
      assert.equal((await meter.run(["status"])).code, 0);
      await assertStops(meter);
    }));
});
