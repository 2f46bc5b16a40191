import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MissingPackageError } from "../../../adapters/optional-packages.ts";
import { MeterCommand } from "../../../cli/program/meter-command.ts";
import { meterProgram } from "../../../cli/program/meter-program.ts";
import { runProgram } from "../../../cli/program/run-program.ts";
import { runWords } from "../run-command.rig.ts";

/** Runs a command that throws. */
function runThrowing(cause: unknown) {
  class ThrowingCommand extends MeterCommand {
    static override paths = [["throw"]];
    protected override perform = () => Promise.reject(cause);
  }
  return runWords("/none", ["throw"], {}, (words, context) =>
    runProgram(meterProgram, [ThrowingCommand], words, context),
  );
}

describe("MeterCommand", () => {
  it("says how to install a missing package, without a stack trace", async () => {
    const missing = new MissingPackageError(
      "It needs acme, which is not installed. Install it: npm install acme",
    );
    assert.deepEqual(await runThrowing(missing), {
      code: 1,
      stdout: "",
      stderr: `meter: ${missing.message}\nAdd -g if meter is installed with -g.\n`,
    });
  });

  it("prints an unexpected error with its stack trace", async () => {
    const { code, stderr } = await runThrowing(new TypeError("a planted fault"));
    assert.equal(code, 1);
    assert.match(stderr, /^meter: Internal error: TypeError: a planted fault\n +at /);
  });
});
