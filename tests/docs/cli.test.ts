import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { commandsFor } from "../../cli/commands/commands-for.ts";
import { exitCodeTable } from "../../cli/program/exit-codes.ts";

const page = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");

const commands = await commandsFor([]);

describe("docs/cli.md", () => {
  for (const { paths, usage } of commands) {
    const [path = [], ...others] = paths ?? [];
    it(`has the line of meter ${path.join(" ")}, with an example`, () => {
      const also = others.map((words) => `; also \`meter ${words.join(" ")}\``).join("");
      const start = `| \`meter ${path.join(" ")}\` | ${usage?.description}${also} | \``;
      const line = page.split("\n").find((each) => each.startsWith(start));
      assert.ok(line !== undefined, `a line is missing: ${start}`);
      assert.ok(usage?.examples?.some(([, words]) => line.endsWith(`| \`${words}\` |`)));
    });
  }

  it("has no command that was removed", () => {
    const known = new Set(commands.flatMap(({ paths }) => (paths ?? []).map((words) => words.join(" "))));
    const named = [...page.matchAll(/^\| `meter ([a-z -]+)` \|/gm)].map(([, words]) => words as string);
    assert.deepEqual(
      named.filter((words) => !known.has(words)),
      [],
    );
  });

  it("has every exit code", () => {
    for (const [code] of exitCodeTable) assert.match(page, new RegExp(`^\\| ${code} \\| `, "m"));
  });
});
