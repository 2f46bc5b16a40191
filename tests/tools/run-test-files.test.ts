import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { onNodeOnly, runProgram } from "../end-to-end/meter-process.rig.ts";

const program = fileURLToPath(new URL("../../tools/run-test-files.ts", import.meta.url));

describe("run-test-files.ts", { skip: onNodeOnly }, () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-test-files-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs files that have the given lines after their imports. */
  const runFiles = (...bodies: readonly string[]) => runFilesWithin(5_000, ...bodies);

  const runFilesWithin = (limitMs: number, ...bodies: readonly string[]) => {
    const files = bodies.map((body, at) => {
      const file = join(folder, `${bodies.length - at}.test.mjs`);
      writeFileSync(
        file,
        `import assert from "node:assert/strict";\nimport { it } from "node:test";\n${body}\n`,
      );
      return file;
    });
    return runProgram([process.execPath, program, "--timeout", `${limitMs}`, ...files]);
  };

  it("runs the files in the given order, and ends them although they leave something open", async () => {
    const { code, stdout } = await runFiles(
      'it("first", () => void setInterval(() => {}, 1e6));',
      'it("second", async () => {});',
    );
    assert.match(stdout, /✔ first[\s\S]*✔ second[\s\S]*ℹ pass 2\nℹ fail 0\n/);
    assert.equal(code, 0);
  });

  it("fails if a test fails, a file throws, or a file ends early", async () => {
    for (const [body, reported] of [
      ['it("wrong", () => assert.equal(1, 2));', /✖ wrong[\s\S]*1 !== 2/],
      ['throw new Error("not loaded");', /Error: not loaded/],
      ["process.exit(3);", /✖ .*1\.test\.mjs/],
      ['it("waits", () => new Promise(() => {}));', /✖ waits/],
    ] as const) {
      const { code, stdout } = await runFiles(body);
      assert.match(stdout, reported);
      assert.equal(code, 1, body);
    }
  });

  it("fails if an error is thrown outside of the test that caused it, and prints where", async () => {
    const { code, stdout, stderr } = await runFiles(`
      it("passes", async () => {
        await null;
        setTimeout(function laterCallback() { throw new Error("late"); }, 1);
        await new Promise((resolve) => setTimeout(resolve, 50));
      });`);
    assert.equal(code, 1);
    assert.match(stdout + stderr, /uncaughtException: Error: late\n {4}at .*laterCallback/);
  });

  // Planted: neither limit; each run lasted as long as the process that sleeps.
  it("ends and names a file whose process never ends, or leaves a process with its output, and runs the next one", async () => {
    const sleeping = `
      import { spawn } from "node:child_process";
      const sleeper = spawn("sleep", ["300"], { stdio: "inherit" });
      sleeper.unref();
      console.log("sleeper", sleeper.pid);`;
    for (const [body, reported] of [
      [
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
        /2\.test\.mjs: killed, .* longer than 2 s/,
      ],
      [`${sleeping} it("passes", () => {});`, /2\.test\.mjs: failed, .* holds its output open/],
    ] as const) {
      const { code, stdout, stderr } = await runFilesWithin(2_000, body, 'it("next", () => {});');
      const sleeper = /sleeper (\d+)/.exec(stdout)?.[1];
      if (sleeper !== undefined) process.kill(Number(sleeper));
      assert.match(stdout, /✖ .*2\.test\.mjs[\s\S]*✔ next/);
      assert.match(stderr, reported);
      assert.equal(code, 1);
    }
  });
});
