import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { onNodeOnly } from "../../end-to-end/meter-process.rig.ts";

/** Imports the entry on a Node that finds no better-auth. */
const program = `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith("better-auth")) return next(specifier, context);
      throw Object.assign(new Error("Cannot find package 'better-auth'"), { code: "ERR_MODULE_NOT_FOUND" });
    },
  });
  await import(${JSON.stringify(new URL("../../../adapters/accounts/mod.ts", import.meta.url).href)}).catch(({ message }) =>
    console.log(message),
  );
`;

describe("adapters/accounts", () => {
  it("fails to load without better-auth, with the command that installs it", {
    skip: onNodeOnly,
  }, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--input-type=module",
      "--eval",
      program,
    ]);
    assert.equal(
      stdout,
      "adapters/accounts needs better-auth, which is not installed. Install it: npm install better-auth@~1.6\n",
    );
  });
});
