import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import {
  quoteArgument,
  quoteForShell,
  quoteIfNeeded,
  quoteOption,
} from "../../../../core/values/text/shell-words.ts";

describe("quoteIfNeeded()", () => {
  it("leaves a word that no shell changes, and quotes any other", () => {
    for (const [word, quoted] of [
      ["apollo", "apollo"],
      ["feature/a+b@1.0:x_y-z", "feature/a+b@1.0:x_y-z"],
      ["model.not=gpt-5", "model.not=gpt-5"],
      ["=ls", "'=ls'"],
      ["", "''"],
      ["a b", "'a b'"],
      ["$HOME", "'$HOME'"],
      ["it's", "'it'\\''s'"],
      ["a\nb", "'a\nb'"],
      ["a\n", "'a\n'"],
      ["~", "'~'"],
      ["ä", "'ä'"],
    ] as const)
      assert.equal(quoteIfNeeded(word), quoted, word);
  });

  it("keeps every word as it is in a shell", {
    skip: process.platform === "win32" && "no POSIX shell",
  }, () => {
    const words = [
      "apollo",
      "",
      "a b",
      "$(id)",
      "`id`",
      "it's",
      "a\nb",
      "\\",
      '"',
      "*",
      "!x",
      "#a",
      "=",
      "{a,b}",
    ];
    for (const quote of [quoteForShell, quoteIfNeeded]) {
      const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${words.map(quote).join(" ")}`], {
        encoding: "utf8",
      });
      assert.deepEqual(printed.split("\0").slice(0, -1), words);
    }
  });
});

describe("quoteArgument()", () => {
  it("keeps a word with a leading hyphen from being an option", () => {
    for (const [word, quoted] of [
      ["apollo", "apollo"],
      ["a b", "'a b'"],
      ["-x", "-- -x"],
      ["--", "-- --"],
      ["-a b", "-- '-a b'"],
    ] as const)
      assert.equal(quoteArgument(word), quoted);
  });
});

describe("quoteOption()", () => {
  it("keeps a value with a leading hyphen from being an option", () => {
    for (const [value, shown] of [
      ["apollo", "--project apollo"],
      ["a b", "--project 'a b'"],
      ["--json", "--project=--json"],
      ["-a b", "--project='-a b'"],
    ] as const)
      assert.equal(quoteOption("--project", value), shown);
  });
});
