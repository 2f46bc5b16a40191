import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandsFor } from "../../../cli/commands/commands-for.ts";
import { commands as cloudCommands } from "../../../cli/meter-cloud/commands/mod.ts";
import { withProgramName } from "../../../cli/program/program-name.ts";
import { createEmptyHome, runWords } from "../run-command.rig.ts";

const inClone = { npm_command: "exec" };

describe("withProgramName()", () => {
  const cases: [text: string, inClone: string][] = [
    ["meter stop && meter start", "npx --no-install meter stop && npx --no-install meter start"],
    ["Start it: meter start", "Start it: npx --no-install meter start"],
    ["run them with meter run.", "run them with npx --no-install meter run."],
    ["or by meter-cloud admin create-user", "or by npx --no-install meter-cloud admin create-user"],
    ["npx --no-install meter start", "npx --no-install meter start"],
    [". '/home/a meter b/env.sh'", ". '/home/a meter b/env.sh'"],
    ["ExecStart=/usr/bin/meter start", "ExecStart=/usr/bin/meter start"],
    ["the meter runs, the meter start", "the meter runs, the meter start"],
    ["meter run-of-the-mill", "meter run-of-the-mill"],
  ];
  for (const [text, expected] of cases)
    it(`prefixes npx --no-install in a clone run through npm: ${text}`, () => {
      assert.equal(withProgramName(text, inClone), expected);
      assert.equal(
        withProgramName(text, { npm_command: "run-script", npm_lifecycle_event: "demo" }),
        expected,
      );
      assert.equal(withProgramName(text, { npm_command: "run-script", npm_lifecycle_event: "test" }), text);
      assert.equal(withProgramName(text, {}), text);
    });

  it("names the published package where npx runs it", () => {
    const cases = [
      ["Start it: meter start", "Start it: npx @llm-meter/meter start"],
      ["meter-cloud admin create-user", "npx --package @llm-meter/meter meter-cloud admin create-user"],
      ["npx @llm-meter/meter start", "npx @llm-meter/meter start"],
    ] as const;
    for (const [text, expected] of cases) {
      assert.equal(withProgramName(text, { npm_command: "exec" }, false), expected);
      assert.equal(withProgramName(text, {}, false), text);
    }
  });

  it("knows every command", async () => {
    for (const { paths } of await commandsFor([]))
      for (const path of paths ?? []) {
        const command = ["meter", ...path].join(" ");
        assert.equal(withProgramName(command, inClone), `npx --no-install ${command}`);
      }
    for (const { paths } of cloudCommands)
      for (const path of paths ?? []) {
        const command = ["meter-cloud", ...path].join(" ");
        assert.equal(withProgramName(command, inClone), `npx --no-install ${command}`);
      }
  });
});

describe("what a command prints", () => {
  it("can be pasted in a clone, except for JSON", async () => {
    const { home, remove } = createEmptyHome();
    const said = async (words: string[]) => await runWords(home, words, inClone);
    assert.match(
      (await said(["cloud", "status"])).stdout,
      /To connect: npx --no-install meter cloud\s+connect\n/,
    );
    assert.match((await said(["cloud", "status", "--json"])).stdout, /To connect: meter cloud connect"/);
    assert.match((await said(["explain", "last"])).stderr, /Nothing has been metered yet/);
    assert.match((await said(["status"])).stdout, /Start it: npx --no-install meter start\n/);
    assert.match((await said(["open"])).stderr, /Start it: npx --no-install meter start\n$/);
    remove();
  });

  it("names the program once, wherever its lines are wrapped", async () => {
    const { home, remove } = createEmptyHome();
    for (let columns = 40; columns < 80; columns++) {
      const { stdout } = await runWords(home, ["status"], { ...inClone, COLUMNS: String(columns) });
      assert.match(stdout.replaceAll(/\s+/g, " "), /: npx --no-install meter start /);
      assert.doesNotMatch(stdout, /--no-install\s+npx/);
    }
    remove();
  });
});
