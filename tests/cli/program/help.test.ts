import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandsFor } from "../../../cli/commands/commands-for.ts";
import { commands as cloudCommands } from "../../../cli/meter-cloud/commands/mod.ts";
import { type CommandDescription, renderCommandHelp, usageLines } from "../../../cli/program/help.ts";
import { runCloudWords } from "../meter-cloud/run-cloud-command.rig.ts";
import { createEmptyHome, runWords } from "../run-command.rig.ts";

const pathsOf = (commands: readonly { paths?: string[][] }[]) => commands.flatMap(({ paths }) => paths ?? []);

/** The prefixes of command paths that are not commands, such as `cloud privacy`. */
function groupsOf(paths: readonly (readonly string[])[]): string[] {
  const commands = new Set(paths.map((path) => path.join(" ")));
  const beginnings = paths.flatMap((path) => path.map((_, index) => path.slice(0, index).join(" ")).slice(1));
  return [...new Set(beginnings)].filter((group) => !commands.has(group));
}

const meterPaths = pathsOf(await commandsFor([]));
const cloudPaths = pathsOf(cloudCommands);

async function runMeter(words: readonly string[]) {
  const { home, remove } = createEmptyHome();
  try {
    return await runWords(home, words);
  } finally {
    remove();
  }
}

const programs = [
  { name: "meter", paths: meterPaths, run: runMeter },
  { name: "meter-cloud", paths: cloudPaths, run: (words: readonly string[]) => runCloudWords(words) },
];

describe("the help of a group of commands", () => {
  it("exists in both programs", () => {
    assert.ok(groupsOf(meterPaths).includes("cloud privacy"));
    assert.ok(groupsOf(cloudPaths).includes("admin"));
  });

  for (const { name, paths, run } of programs) {
    for (const group of groupsOf(paths)) {
      for (const flag of ["--help", "-h"]) {
        it(`lists every command of the group on standard output: ${name} ${group} ${flag}`, async () => {
          const { code, stdout, stderr } = await run([...group.split(" "), flag]);
          assert.deepEqual([code, stderr], [0, ""]);
          assert.ok(stdout.startsWith(`Usage: ${name} ${group} <command> [options]\n`), stdout);
          const members = paths.map((path) => path.join(" ")).filter((path) => path.startsWith(`${group} `));
          for (const path of members) assert.match(stdout, new RegExp(`^ {2}${name} ${path} {2,}\\S`, "m"));
        });
      }
    }
  }

  it("follows the command's own help if the group is also a command", async () => {
    const { code, stdout } = await runMeter(["project", "--help"]);
    assert.equal(code, 0);
    assert.match(stdout, /^Turn body capture on or off for a project\n/);
    assert.match(
      stdout,
      /\nMore commands\n\n {2}meter project list {2,}\S.*\n {2}meter project merge {2,}\S.*\n {2}meter project reassign {2,}\S/,
    );
  });
});

const command: CommandDescription = {
  path: "meter demo",
  category: "Demo",
  description: "Show one thing",
  details: "",
  options: [
    { syntax: "--kind <value>", description: "Which thing", required: true },
    { syntax: "--json", description: "Print JSON", required: false },
  ],
  positionals: "<id>",
  examples: [["Show it", "meter demo last"]],
};

describe("renderCommandHelp()", () => {
  it("shows usage, aligned options and examples, and omits empty sections", () => {
    assert.equal(
      renderCommandHelp(command, [], (text) => text),
      [
        "Show one thing",
        "",
        "Usage",
        "",
        "$ meter demo --kind <value> [--json] <id>",
        "",
        "Options",
        "",
        "  --kind <value>  Which thing",
        "  --json          Print JSON",
        "",
        "Examples",
        "",
        "Show it",
        "  $ meter demo last",
        "",
      ].join("\n"),
    );
  });
});

describe("usageLines()", () => {
  it("wraps between options and never inside one", () => {
    const options = Array.from({ length: 9 }, (_, index) => ({
      syntax: `--option-${index} <value>`,
      description: "",
      required: false,
    }));
    const lines = usageLines({ ...command, options });
    assert.ok(lines.length > 2);
    for (const line of lines) {
      assert.ok(line.length <= 80, line);
      assert.equal(line.split("[").length, line.split("]").length, line);
    }
  });
});
