import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Books, compareBooks, ledgerBooks, reportedBooks } from "../../examples/demo/compare-books.ts";
import { onNodeOnly, plainEnvironment, runProgram, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.ts";

const demo = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));

describe("npm run demo", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  it("shows two projects, says that it is exact, and leaves nothing behind", async () => {
    const { code, stdout, stderr } = await runProgram([process.execPath, demo]);
    assert.deepEqual([code, stderr], [0, ""], stdout);
    assert.match(
      stdout,
      /\nYes: 53 calls, [\d,]+ tokens and \$\d+\.\d+, in the report and in the providers' own books\.\n$/,
    );
    for (const shown of [
      /^── meter start /m,
      /^── meter report --by project /m,
      /^── meter report --by model /m,
      /^── meter explain <id> /m,
      /^apollo +\d+ /m,
      /^hermes +\d+ /m,
      /^side-project +1 /m,
      /^Metering coverage: 100 % \(53 of 53 seen on providers' hosts\)\.$/m,
      /^ {2}cache write 1h +3,141 +\$6 \/ M +\$0\.018846$/m,
    ]) {
      assert.match(stdout, shown);
    }
    const [, home = ""] = / Home: (\S+)\n/.exec(stdout) ?? [];
    assert.notEqual(home, "");
    assert.equal(existsSync(home), false);
  });

  it("keeps running where asked to, says how to use and to stop it, and stops", async () => {
    const child = spawn(process.execPath, [demo, "--keep"], {
      env: plainEnvironment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    const ended = once(child, "close");
    await waitFor("the demo to stand", () => output.includes("Ctrl-C here stops"), SUITE_TIMEOUT_MS);
    const [, home = ""] = /\n {2}export METER_HOME=(\S+)\n/.exec(output) ?? [];
    const program = fileURLToPath(new URL("../../cli/bin.js", import.meta.url));
    const status = await runProgram([process.execPath, program, "status"], { env: { METER_HOME: home } });
    assert.equal(status.code, 0);
    child.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    assert.equal(existsSync(home), false);
    assert.ok(!readdirSync(tmpdir()).some((name) => home.includes(name) && name.startsWith("meter-demo-")));
  });
});

describe("compareBooks()", () => {
  const reported = (rows: object[]): Books => reportedBooks(JSON.stringify({ rows }));
  const row = { key: "xai", requests: 2, prompt_tokens: "7", completion_tokens: null, cost_pico_usd: "9" };

  it("finds nothing where all figures are the same", () => {
    assert.deepEqual(compareBooks(reported([row]), reported([row])), []);
    assert.deepEqual(compareBooks(ledgerBooks([]), reported([])), []);
  });

  it("names every figure that differs, by one token or one pico-USD", () => {
    const off = { ...row, prompt_tokens: "8", cost_pico_usd: "10" };
    assert.deepEqual(compareBooks(reported([row]), reported([off])), [
      "xai prompt_tokens: stated 7, reported 8",
      "xai cost_pico_usd: stated 9, reported 10",
    ]);
    assert.ok(compareBooks(reported([row]), reported([])).includes("xai requests: stated 2, reported none"));
    assert.ok(compareBooks(reported([]), reported([row])).includes("xai requests: stated none, reported 2"));
  });
});
