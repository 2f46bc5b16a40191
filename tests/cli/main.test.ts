import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { commandsFor } from "../../cli/commands/commands-for.ts";
import { exitCodes, exitCodeTable } from "../../cli/program/exit-codes.ts";
import { version } from "../../cli/program/version.ts";
import { createEmptyHome, runWords } from "./run-command.rig.ts";

const all = await commandsFor([]);
const commands = all.map(({ paths }) => paths?.[0]?.join(" ") ?? "");
/** A command's words as a pattern, including its aliases. */
const named = (command: string) =>
  all
    .find(({ paths }) => paths?.[0]?.join(" ") === command)
    ?.paths?.map((words) => words.join(" "))
    .join("|");

async function say(words: readonly string[]) {
  const { home, remove } = createEmptyHome();
  try {
    return await runWords(home, words);
  } finally {
    remove();
  }
}

describe("main()", () => {
  it("has the version of the package", async () => {
    const { version: ofPackage } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    assert.equal(version, ofPackage);
    assert.deepEqual(await say(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
  });

  for (const words of [[], ["--help"], ["-h"]]) {
    it(`lists every command and the exit codes: meter ${words.join(" ")}`, async () => {
      const { code, stdout, stderr } = await say(words);
      assert.deepEqual([code, stderr], [0, ""]);
      for (const command of commands) assert.match(stdout, new RegExp(`^ {2}meter ${command} {2,}\\S`, "m"));
      assert.ok(
        stdout.split("\n").every((line) => line.length <= 80),
        "fits a terminal",
      );
      for (const [number, meaning] of exitCodeTable) assert.ok(stdout.includes(`  ${number}  ${meaning}\n`));
      assert.ok(!/\u001b|#\d/.test(stdout), "no colours where nobody sees them, no stand-ins of the parser");
    });
  }

  for (const command of commands) {
    it(`shows examples: meter ${command} --help`, async () => {
      const { code, stdout, stderr } = await say([...command.split(" "), "--help"]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /\nUsage\n/);
      assert.match(stdout, new RegExp(`\n\\$ meter ${command}( |\n)`));
      assert.match(stdout, new RegExp(`\nExamples\n[\\s\\S]*\n {2}\\$ meter (?:${named(command)})`));
      assert.ok(!/\u001b|#\d|undocumented/.test(stdout));
    });
  }

  it("aligns the descriptions of options, and names their values", async () => {
    const { stdout } = await say(["report", "--help"]);
    const options = stdout.split("\n").filter((line) => /^ {2}--\S/.test(line));
    assert.ok(options.length > 8);
    assert.deepEqual(
      new Set(options.map((line) => /^ {2}--\S+(?: <value>)? +(?=\S)/.exec(line)?.[0].length)),
      new Set([22]),
    );
  });

  const misunderstood: string[][] = [
    ["bogus"],
    ["repot"],
    ["report", "--bogus"],
    ["report", "one", "two"],
    ["report", "--by"],
    ["report", "--by", "colour"],
    ["report", "--json", "--csv"],
    ["report", "--since", "soon"],
    ["report", "--since", "7d", "--from", "2026-11-01"],
    ["explain"],
    ["bodies"],
    ["bodies", "show"],
    ["bodies", "show", "x", "--side", "left"],
    ["pricing"],
    ["project", "web"],
    ["project", "web", "set", "body-capture", "maybe"],
    ["project", "web", "set", "body-capture", "on", "please"],
    ["project", "***", "set", "body-capture", "on"],
    ["recompute-costs", "--from", "x"],
    ["run"],
    ["run", "--"],
    ["run", "--", ""],
    ["run", "--project", "***", "--", "true"],
    ["run", "--project", "", "--", "true"],
    ["run", "--bogus", "--", "true"],
  ];
  for (const words of misunderstood) {
    it(`exits with 2 and a reason on standard error: meter ${words.join(" ")}`, async () => {
      const { code, stdout, stderr } = await say(words);
      assert.equal(code, exitCodes.usage, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, /\S.*\n$/);
      assert.ok(!/internal error|\u001b|#\d|\n {4}at /.test(stderr), stderr);
    });
  }

  const hints: [words: string[], said: string | RegExp][] = [
    [["frob", "x\u001b"], "meter: Unknown command: frob x\ufffd.\nList all commands: meter --help\n"],
    [["reprot", "--json"], "meter: Unknown command: reprot --json. Did you mean this?\n\n  meter report\n"],
    [
      ["pricing", "refrsh"],
      "meter: Unknown command: pricing refrsh. Did you mean this?\n\n  meter pricing refresh\n",
    ],
    [
      ["quarantine"],
      "meter: Unknown command: quarantine. Similar commands:\n\n" +
        "  meter cloud quarantine list   List records and bodies that the cloud refused\n" +
        "  meter cloud quarantine retry  Send refused records again\n",
    ],
    [
      ["cloud"],
      /^meter: The command is incomplete\. Available commands:\n\n {2}meter cloud bodies status {2}[\s\S]* {2}meter cloud whoami {2}/,
    ],
    [
      ["prune"],
      "meter: The option --before is missing.\n\n$ meter prune --before <value> [--utc] [--dry-run] [--yes] [--json]\n",
    ],
    [
      ["run", "--"],
      "meter: The argument <command> is missing.\n\n$ meter run [--project <value>] [--telemetry] <command> ...\n",
    ],
    [["status", "now"], "meter: Unexpected argument: now.\n\n$ meter status [--json]\n"],
    [["report", "--sinc"], /^meter: Unknown option: --sinc.\n\n\$ meter report \[--by <value>\] /],
    [["report", "--by"], /^meter: --by needs a value.\n/],
    [
      ["project"],
      "meter: The argument <slug> is missing.\n\n$ meter project <slug> set body-capture on|off\n",
    ],
    [["explain", "--json"], /^meter: The argument <id> is missing\.\n/],
    [["budget", "set"], /^meter: The arguments <name> and <amount> are missing\.\n/],
    [["budget", "set", "monthly"], /^meter: The argument <amount> is missing\.\n/],
    [["budget", "set", "monthly", "--period", "day"], /^meter: An argument is missing\.\n/],
    [["budget", "lift", "monthly"], /^meter: The option --for is missing\.\n/],
    [["budget", "lift", "--for=1h"], /^meter: The argument <name> is missing\.\n/],
    [["import", "--frob"], /\n\$ meter import [\s\S]* \[agent\] \.\.\.\n$/],
    [["import", "remove", "--frob"], /\n\$ meter import remove .* \[agent\] \.\.\.\n$/],
    [["reconcile", "bill", "--frob"], /\n\$ meter reconcile bill [\s\S]* \[file\] \.\.\.\n$/],
    [["project", "reassign", "a"], /\n\$ meter project reassign [\s\S]* <project> <other-project>\n$/],
  ];
  for (const [words, said] of hints)
    it(`reports what is missing or was probably meant: meter ${words.join(" ")}`, async () => {
      const { stderr } = await say(words);
      if (typeof said === "string") assert.equal(stderr, said);
      else assert.match(stderr, said);
      assert.ok(stderr.split("\n").every((line) => line.length <= 80));
    });
});

describe("exitCodeTable", () => {
  it("has each exit code once", () => {
    assert.deepEqual(
      exitCodeTable.map(([code]) => code),
      Object.values(exitCodes),
    );
    assert.deepEqual(Object.values(exitCodes), [0, 1, 2, 3, 4]);
  });
});
