import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { homedir, hostname } from "node:os";
import process from "node:process";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { firstLine } from "../../../../cli/commands/self-test/try-platform.ts";
import {
  createHome,
  meterWords,
  onNodeOnly,
  removeHome,
  runProgram,
  SUITE_TIMEOUT_MS,
  waitFor,
} from "../../../end-to-end/meter-process.rig.ts";

const skip = onNodeOnly || (process.platform === "linux" ? false : "the steps' results differ by platform");

describe("meter self-test", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  it("tries each step in a temporary folder, and reports them without paths", async () => {
    const home = createHome([]);
    after(() => removeHome(home));
    const env = { METER_HOME: home, HOME: home, PATH: process.env.PATH };
    const { code, stdout, stderr } = await runProgram([...meterWords, "self-test", "--report"], { env });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^meter \d+\.\d+\.\d+, Node \d+\.\d+\.\d+, linux /);
    const rows = [...stdout.matchAll(/^\| ([a-z][^|]*) \| (ok|failed|absent) \|/gm)].map(
      ([, step, result]) => [step, step === "service manager" ? "-" : result],
    );
    assert.deepEqual(rows, [
      ["find the process of a connection", "ok"],
      ["service manager", "-"],
      ["start a daemon", "ok"],
      ["meter a call", "ok"],
      ["stop the daemon", "ok"],
    ]);
    assert.ok(!stdout.includes(home));
    assert.deepEqual(
      readdirSync(home).filter((name) => name.startsWith("self-test")),
      [],
    );
  });

  it("leaves no daemon and no folder behind after Ctrl+C", async () => {
    const home = createHome([]);
    after(() => removeHome(home));
    const [program = "", ...words] = [...meterWords, "self-test"];
    const child = spawn(program, words, {
      env: { METER_HOME: home, HOME: home, PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    const started = () =>
      readdirSync(home, { recursive: true }).some((name) => /daemon\.json$/.test(`${name}`));
    await waitFor("the daemon", started);
    child.kill("SIGINT");
    const [stdout, stderr] = await said;
    assert.match(stdout, /^ok +stop the daemon/m);
    assert.equal(stderr, "meter: The test was interrupted. Its daemon has ended.\n");
    assert.deepEqual(
      readdirSync(home).filter((name) => name.startsWith("self-test")),
      [],
    );
  });
});

describe("firstLine()", () => {
  it("leaves out the temporary home, the user's folder and the machine's name", () => {
    const home = `${homedir()}/.meter/self-test-1`;
    const cause = new Error(`EACCES '${home}/meter.db', '${homedir()}/.meter', ${hostname()}:8081\nmore`);
    assert.equal(firstLine(cause, home), "EACCES '<home>/meter.db', '~/.meter', <host>:8081");
  });
});
