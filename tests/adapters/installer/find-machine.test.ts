import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { findMachine } from "../../../adapters/installer/find-machine.ts";
import { inFolder, recordedCommands } from "./machine.rig.ts";

describe("findMachine()", () => {
  it("finds the start files of the login shell if SHELL is not set", () =>
    inFolder(async (HOME) => {
      const find = async (env: Record<string, string>) =>
        (await findMachine({ env, run: recordedCommands().run, platform: "linux" })).startFiles;
      assert.deepEqual(await find({ HOME }), await find({ HOME, SHELL: userInfo().shell ?? "" }));
    }));

  for (const value of ["", "relative"]) {
    it(`finds start files in the home folder if XDG_CONFIG_HOME is "${value}" and ZDOTDIR is empty`, () =>
      inFolder(async (HOME) => {
        mkdirSync(join(HOME, ".config", "fish"), { recursive: true });
        const env = { HOME, SHELL: "/bin/zsh", XDG_CONFIG_HOME: value, ZDOTDIR: "" };
        const { startFiles } = await findMachine({ env, run: recordedCommands().run, platform: "linux" });
        assert.deepEqual(
          startFiles.map(({ path }) => path),
          [join(HOME, ".zshrc"), join(HOME, ".config", "fish", "config.fish")],
        );
      }));
  }
});
