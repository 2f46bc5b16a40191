import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  compareTotals,
  reportedTotals,
  statedTotals,
  type Totals,
} from "../../examples/demo/compare-totals.ts";
import { keepRunning } from "../../examples/demo/keep-running.ts";
import { onNodeOnly, plainEnvironment, runProgram, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { programFile } from "./program-file.rig.ts";

const demo = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));

describe("npm run demo", { skip: onNodeOnly, timeout: 3 * SUITE_TIMEOUT_MS }, () => {
  it("shows two projects and a cloud, reports both as exact, keeps running on request, stops, and cleans up", async () => {
    const child = spawn(process.execPath, [demo, "--keep"], {
      env: plainEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let complaints = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    const ended = once(child, "close");
    await waitFor("the demo to stand", () => output.includes("Ctrl-C here stops"), SUITE_TIMEOUT_MS).catch(
      (cause: Error) => assert.fail(`${cause.message}: ${output}${complaints}`),
    );
    const [, home = ""] = /\n {2}export METER_HOME=(\S+)\n/.exec(output) ?? [];
    const program = programFile("bin.js");
    const status = await runProgram([process.execPath, program, "status"], { env: { METER_HOME: home } });
    assert.equal(status.code, 0);
    child.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    // A busy machine makes `meter sync` report its progress.
    assert.equal(complaints.replaceAll(/^meter: Still sending: .*\n/gm, ""), "");
    assert.match(
      output,
      /\nYes: 53 calls, [\d,]+ tokens and \$\d+\.\d+, in the report and in the providers' own totals\.\n/,
    );
    for (const shown of [
      /^── meter start /m,
      /^── meter report --by project /m,
      /^── meter report --by model /m,
      /^── meter explain <id> /m,
      /^apollo +\d+ /m,
      /^hermes +\d+ /m,
      /^side-project +1 /m,
      /^Metering coverage: 100 % \(53 of 53 calls seen on providers' hosts\)\.$/m,
      /^ {2}cache write 1h +3,141 +\$6\.00 \/ M +\$0\.018846$/m,
      /^It answers at https:\/\/127\.0\.0\.1:\d+, /m,
      /^ {2}code {2}\w{4}-\w{4}$/m,
      /^Connected to Main\.$/m,
      /^ACTIVE: Connected to Main; 0 requests wait to be sent\.$/m,
      /^Bodies: 0 sent, 50 waiting\.$/m,
      /^50 bodies wait on this machine: the workspace does not store prompt content\.$/m,
      /^\(None of them has left this machine\.\)$/m,
      /^Bodies: \d+ sent, 0 waiting\.$/m,
      /^ {2}Why is the sky blue\? Write to \[redacted:email_address\], with the key \[redacted:provider_api_key\]\.$/m,
      /^\d+ batch(?:es)? and 5\d bodies of 53 requests have left this machine,$/m,
      /^The log is intact: entries 1 to \d+\.$/m,
      /^requests +53 +53 +0$/m,
      /^cost as sent +\$\S+ +\$\S+ +0$/m,
      /^cost by the cloud +\$\S+ +0$/m,
      /^GOOD: zero variance \(0 %\)\.$/m,
      /^Exactly zero, to the last token and pico-USD\.$/m,
    ]) {
      assert.match(output, shown);
    }
    assert.equal(/ Home: (\S+)\n/.exec(output)?.[1], home);
    assert.equal(existsSync(home), false);
    assert.ok(!readdirSync(tmpdir()).some((name) => home.includes(name) && name.startsWith("meter-demo-")));
    const [, cloud = ""] =
      /\n(https:\/\/127\.0\.0\.1:\d+)\/w\/[0-9a-f-]{36}\n\n── Still running/.exec(output) ?? [];
    assert.equal(new URL(cloud).protocol, "https:");
    await assert.rejects(
      fetch(cloud),
      ({ cause }: Error) => (cause as { code?: string }).code === "ECONNREFUSED",
    );
  });

  it("does not keep running if it is not asked to", { timeout: SUITE_TIMEOUT_MS }, async () => {
    const stays = new Promise<never>(() => {});
    await keepRunning(["node", demo], { home: "" }, "", stays);
  });

  it("ends its processes if the reader of its output has exited", async () => {
    const child = spawn(process.execPath, [demo], {
      env: plainEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.includes("Body capture is on")) child.stdout.destroy();
    });
    const [code] = await once(child, "close");
    assert.deepEqual([code, complaints], [1, "interrupted\n"]);
    const [, folder = ""] = / Home: (\S+)\/home-\S+\n/.exec(output) ?? [];
    assert.notEqual(folder, "");
    assert.equal(existsSync(folder), false);
    assert.deepEqual(
      commandLines().filter((line) => line.includes(folder)),
      [],
    );
  });
});

/** Returns the processes of this machine, if the system lists them. */
function commandLines(): string[] {
  const numbers = existsSync("/proc") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  return numbers.flatMap((pid) => {
    try {
      return [readFileSync(join("/proc", pid, "cmdline"), "utf8")];
    } catch {
      return [];
    }
  });
}

describe("compareTotals()", () => {
  const reported = (rows: object[]): Totals => reportedTotals(JSON.stringify({ rows }));
  const row = { key: "xai", requests: 2, prompt_tokens: "7", completion_tokens: null, cost_pico_usd: "9" };

  it("finds no difference between equal totals", () => {
    assert.deepEqual(compareTotals(reported([row]), reported([row])), []);
    assert.deepEqual(compareTotals(statedTotals([]), reported([])), []);
  });

  it("reports every total that differs by one token or one pico-USD", () => {
    const off = { ...row, prompt_tokens: "8", cost_pico_usd: "10" };
    assert.deepEqual(compareTotals(reported([row]), reported([off])), [
      "xai prompt_tokens: stated 7, reported 8",
      "xai cost_pico_usd: stated 9, reported 10",
    ]);
    assert.ok(compareTotals(reported([row]), reported([])).includes("xai requests: stated 2, reported none"));
    assert.ok(compareTotals(reported([]), reported([row])).includes("xai requests: stated none, reported 2"));
  });
});
