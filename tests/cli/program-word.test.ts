import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandsFor } from "../../cli/commands/mod.ts";
import { toPaste } from "../../cli/program-word.ts";
import { createEmptyHome, runWords } from "./run-words.ts";

const inClone = { npm_command: "exec" };

describe("toPaste()", () => {
  const cases: [text: string, inClone: string][] = [
    ["meter stop && meter start", "npx meter stop && npx meter start"],
    ["Start it with: meter start", "Start it with: npx meter start"],
    ["run them with meter run.", "run them with npx meter run."],
    ["or by meter-cloud admin create-user", "or by npx meter-cloud admin create-user"],
    ["npx meter start", "npx meter start"],
    [". '/home/a meter b/env.sh'", ". '/home/a meter b/env.sh'"],
    ["ExecStart=/usr/bin/meter start", "ExecStart=/usr/bin/meter start"],
    ["the meter runs, the meter start", "the meter runs, the meter start"],
    ["meter run-of-the-mill", "meter run-of-the-mill"],
  ];
  for (const [text, expected] of cases)
    it(`names the program as npm finds it in a clone, where it was run so: ${text}`, () => {
      assert.equal(toPaste(text, inClone), expected);
      assert.equal(toPaste(text, { npm_command: "run-script", npm_lifecycle_event: "demo" }), expected);
      assert.equal(toPaste(text, { npm_command: "run-script", npm_lifecycle_event: "test" }), text);
      assert.equal(toPaste(text, {}), text);
    });

  it("knows every command", async () => {
    for (const { paths } of await commandsFor([]))
      for (const path of paths ?? []) {
        const command = ["meter", ...path].join(" ");
        assert.equal(toPaste(command, inClone), `npx ${command}`);
      }
  });
});

describe("what a command prints", () => {
  it("is to be pasted in a clone, but in JSON", async () => {
    const { home, remove } = createEmptyHome();
    const said = async (words: string[]) => await runWords(home, words, inClone);
    assert.match((await said(["cloud", "status"])).stdout, /To connect: npx meter cloud\s+connect\n/);
    assert.match((await said(["cloud", "status", "--json"])).stdout, /To connect: meter cloud connect"/);
    assert.match((await said(["explain", "last"])).stderr, /nothing was metered yet/);
    assert.match((await said(["status"])).stdout, /Start it with: npx meter start\n/);
    assert.match((await said(["open"])).stderr, /start it with npx meter start\n$/);
    remove();
  });
});
