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
  const runFiles = (...bodies: readonly string[]) => {
    const files = bodies.map((body, at) => {
      const file = join(folder, `${bodies.length - at}.test.mjs`);
      writeFileSync(
        file,
        `import assert from "node:assert/strict";\nimport { it } from "node:test";\n${body}\n`,
      );
      return file;
    });
    return runProgram([process.execPath, program, "--timeout", "5000", ...files]);
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
});
