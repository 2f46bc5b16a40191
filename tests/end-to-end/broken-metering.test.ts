import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { databaseFile } from "../../cli/home/database-file.ts";
import type { SimulatedCall } from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { type Breakage, privateWords } from "./breakable-daemon.rig.ts";
import { expectedRow, toComparable } from "./expected-rows.rig.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  readStore,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";
import { dialProvider, rawCalls, receive, writeInPieces, writeRequest } from "./raw-client.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

describe("metering that is broken", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulation("broken metering");

  /** Makes one call and compares every byte with the provider's: no fault of the meter may affect it. */
  async function callUntouched(
    meter: Pick<MeterProcess, "proxyPort" | "caPem">,
    scenario = "gzip+thinking+shredded",
  ): Promise<SimulatedCall> {
    const random = createSeededRandom(`broken ${rig.simulation.calls.length}`);
    const call = rawCalls.anthropic!(scenario, true);
    const sent = writeRequest(call, true, random);
    const socket = await dialProvider(meter, call.host);
    const { over } = receive(socket);
    await writeInPieces(socket, sent, random);
    const { bytes } = await over;
    await rig.simulation.idle();
    const entry = rig.simulation.calls.at(-1)!;
    const connection = rig.simulation.connections[entry.connection]!;
    assert.ok(Buffer.concat(connection.received).equals(sent));
    assert.ok(Buffer.concat(connection.sent).equals(bytes));
    return entry;
  }

  async function rowOf(meter: MeterProcess, entry: SimulatedCall) {
    return waitFor(`the row of ${entry.responseId}`, async () =>
      (await meter.rows()).find((row) => row.providerResponseId === entry.responseId),
    );
  }

  const statusUntil = (home: string, code: number) =>
    waitFor(`meter status to end with ${code}`, async () => {
      const status = await runMeter(home, ["status"]);
      return status.code === code ? status : null;
    });

  describe("by a database that another process has locked", () => {
    let meter: MeterProcess;
    before(async () => {
      meter = await startMeter(createHome(simulationConfig(rig.parent, rig.simulation)));
    });
    after(async () => {
      await meter?.stop();
      if (meter !== undefined) removeHome(meter.home);
    });

    it("does not affect calls, is reported, and stores everything once the lock is released", async () => {
      const first = await callUntouched(meter);
      await rowOf(meter, first);
      const { DatabaseSync } = await import("node:sqlite");
      const locker = new DatabaseSync(databaseFile(meter.home));
      locker.exec("BEGIN IMMEDIATE");
      const waiting: SimulatedCall[] = [];
      try {
        for (let n = 0; n < 3; n++) waiting.push(await callUntouched(meter));
        await waitFor(
          "three records that wait",
          async () => (await meter.status()).store.pending === 3 || null,
        );
        const { stdout } = await statusUntil(meter.home, 1);
        assert.match(stdout, /^DEGRADED: calls pass, but records can't be stored\.\n/);
        assert.match(stdout, /\nstored {4}1 request since it started, 3 waiting\n/);
        assert.match(stdout, /\nlast error {2}busy: /);
        const { store } = await meter.status();
        assert.equal(store.capturing, "failing");
        assert.equal(store.pending, 3);
        const json = await runMeter(meter.home, ["status", "--json"]);
        assert.equal(json.code, 1);
        assert.equal(JSON.parse(json.stdout).daemon.store.last_error.reason, "busy");
      } finally {
        locker.exec("ROLLBACK");
        locker.close();
      }
      for (const entry of waiting) {
        assert.deepEqual(toComparable(await rowOf(meter, entry)), expectedRow(entry));
      }
      const { stdout } = await statusUntil(meter.home, 0);
      assert.match(stdout, /^Metering\.\n/);
      const events = meter.log().filter(({ event }) => event.startsWith("store."));
      assert.deepEqual(
        events.map(({ event, reason, dropped }) => [event, reason ?? dropped]),
        [
          ["store.failing", "busy"],
          ["store.recovered", 0],
        ],
      );
      assert.equal(await meter.counted("metered"), 4);
    });
  });

  /** A small separate file system; null if this user may not mount one. */
  function mountSmall(folder: string, kib: number): string | null {
    if (process.platform !== "linux" || process.getuid?.() !== 0)
      return "needs root on Linux to mount a small tmpfs";
    mkdirSync(folder, { recursive: true });
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k,mode=0700`, "tmpfs", folder], {
        stdio: "pipe",
      });
      return null;
    } catch (cause) {
      return `no tmpfs can be mounted here: ${(cause as Error).message.split("\n")[0]}`;
    }
  }

  describe("by a home on a small disk", () => {
    let folder: string;
    let home: string;
    let obstacle: string | null = "not mounted yet";
    const mounted: string[] = [];
    before(() => {
      folder = mkdtempSync(join(tmpdir(), "small-disk-"));
      home = join(folder, "home");
      // The log is on another disk: the database must fail, and the log must report it.
      for (const [path, kib] of [
        [home, 2_048],
        [join(home, "logs"), 1_024],
      ] as const) {
        obstacle = mountSmall(path, kib);
        if (obstacle !== null) return;
        mounted.push(path);
      }
    });
    after(() => {
      for (const path of mounted.reverse()) execFileSync("umount", [path], { stdio: "pipe" });
      rmSync(folder, { recursive: true, force: true });
    });

    it("does not affect calls while the disk is full, is reported, and stores the backlog once there is space", async (test) => {
      if (obstacle !== null) return test.skip(obstacle);
      createHome(simulationConfig(rig.parent, rig.simulation), home);
      const meter = await startMeter(home);
      const from = rig.simulation.calls.length;
      try {
        await rowOf(meter, await callUntouched(meter));
        const filler = join(home, "filler");
        for (const bytes of [65_536, 4_096, 512, 1]) {
          const block = Buffer.alloc(bytes, 1);
          try {
            for (;;) writeFileSync(filler, block, { flag: "a" });
          } catch (cause) {
            assert.equal((cause as NodeJS.ErrnoException).code, "ENOSPC");
          }
        }
        // The free space of the database's WAL still takes some rows.
        await waitFor("the store to fail", async () => {
          await callUntouched(meter, "ok");
          return (await meter.status()).store.capturing === "failing";
        });
        const { stdout } = await statusUntil(home, 1);
        assert.match(stdout, /^DEGRADED: /);
        assert.match(stdout, /\nlast error {2}disk_full: /);
        rmSync(filler);
        await statusUntil(home, 0);
        const entries = rig.simulation.calls.slice(from);
        const rows = await meter.waitForRows(entries.length);
        assert.deepEqual(rows.map(toComparable), entries.map(expectedRow));
        const events = meter.log().map(({ event, reason }) => `${event} ${reason ?? ""}`);
        assert.ok(events.includes("store.failing disk_full"), events.join());
        assert.ok(events.includes("store.recovered "), events.join());
      } finally {
        await meter.stop();
      }
    });

    it("reports why the daemon does not start if nothing can be written, but can still read", async (test) => {
      if (obstacle !== null) return test.skip(obstacle);
      createHome(simulationConfig(rig.parent, rig.simulation), home);
      const earlier = await startMeter(home);
      await rowOf(earlier, await callUntouched(earlier));
      await earlier.stop();
      const before = await runMeter(home, ["report", "--json"]);
      execFileSync("mount", ["-o", "remount,ro", home], { stdio: "pipe" });
      try {
        const started = await runMeter(home, ["start", "--foreground"]);
        assert.equal(started.code, 1);
        assert.match(started.stderr, /^meter: The home .*\/home can't be used: EROFS/);
        const background = await runMeter(home, ["start"]);
        assert.equal(background.code, 1);
        const report = await runMeter(home, ["report", "--json"]);
        assert.deepEqual([report.code, report.stdout], [0, before.stdout]);
        assert.equal((await runMeter(home, ["status"])).code, 3);
      } finally {
        execFileSync("mount", ["-o", "remount,rw", home], { stdio: "pipe" });
      }
      const again = await startMeter(home);
      await rowOf(again, await callUntouched(again));
      await again.stop();
    });
  });

  describe("by a part that throws", () => {
    let meter: MeterProcess;
    const break_ = (part: Breakage) => writeFileSync(join(meter.home, "break"), part);
    const mend = () => rmSync(join(meter.home, "break"), { force: true });
    before(async () => {
      const home = createHome([]);
      const program = fileURLToPath(new URL("./breakable-daemon.rig.ts", import.meta.url));
      meter = await startMeter(home, {
        words: [process.execPath, program, home, String(rig.parent.port), rig.simulation.caFile],
      });
      const { code } = await meter.run(["project", "breakable", "set", "body-capture", "on"]);
      assert.equal(code, 0);
    });
    after(async () => {
      if (meter === undefined) return;
      mend();
      await meter.stop();
      removeHome(meter.home);
    });

    for (const part of [
      "registry",
      "decoder",
      "usage reader",
      "prompt hash",
      "price book",
      "attribution",
    ] as const) {
      it(`loses one record, with a counter and a log line: ${part}`, async () => {
        const [failed, said, stored] = [
          await meter.counted("capture_failed"),
          meter.log().length,
          (await meter.rows()).length,
        ];
        break_(part);
        await callUntouched(meter);
        await waitFor("the counter", async () => (await meter.counted("capture_failed")) === failed + 1);
        mend();
        const lines = await waitFor("the log line", () => {
          const fresh = meter.log().slice(said);
          return fresh.length > 0 ? fresh : null;
        });
        assert.deepEqual(
          lines.map(({ event, level, host, error }) => ({ event, level, host, error })),
          [{ event: "capture.failed", level: "error", host: "api.anthropic.com", error: "TypeError" }],
        );
        const status = await meter.run(["status"]);
        assert.match(
          status.stdout,
          new RegExp(`not metered: ${failed + 1} calls? that the meter failed to record`),
        );
        const entry = await callUntouched(meter);
        assert.deepEqual(toComparable(await rowOf(meter, entry)), expectedRow(entry));
        assert.equal((await meter.rows()).length, stored + 1, "the broken call has no row, the next has one");
      });
    }

    it("stores no body that could not be redacted, but the record: redaction", async () => {
      const failed = await meter.counted("capture_failed");
      break_("redaction");
      const stored = (await meter.rows()).length;
      const entry = await callUntouched(meter);
      const row = (await meter.waitForRows(stored + 1)).at(-1)!;
      await waitFor("the counter", async () => (await meter.counted("capture_failed")) === failed + 1);
      mend();
      // Names that could not be searched for secrets are not stored either.
      const [expected, redacted] = [expectedRow(entry), "[redacted]"];
      assert.deepEqual(toComparable(row), {
        ...expected,
        ...{ model: redacted, requestedModel: redacted, path: redacted, responseId: redacted },
        serviceTier: expected.serviceTier === null ? null : redacted,
      });
      const bodies = await readStore(meter.home, (store) => store.bodies.read(row.requestId));
      assert.deepEqual(bodies, []);
      const next = await rowOf(meter, await callUntouched(meter));
      await waitFor("both bodies", () =>
        readStore(meter.home, (store) => store.bodies.read(next.requestId).length === 2),
      );
    });

    it("relays bytes while the main thread is blocked, and meters them afterwards", async () => {
      const entries: SimulatedCall[] = [];
      break_("main thread");
      try {
        for (const scenario of ["shredded+drip", "ok", "chunked+br"]) {
          entries.push(await callUntouched(meter, scenario));
        }
        const ids = (await meter.rows()).map((row) => row.providerResponseId);
        assert.ok(!entries.some(({ responseId }) => ids.includes(responseId)), "no row can be there");
      } finally {
        mend();
      }
      for (const entry of entries) {
        assert.deepEqual(toComparable(await rowOf(meter, entry)), expectedRow(entry));
      }
    });

    it("does not log the error's message", () => {
      assert.ok(!JSON.stringify(meter.log()).includes(privateWords));
    });
  });
});
