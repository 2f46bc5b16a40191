import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  dashDate,
  type MatchRule,
  matchesRule,
  normaliseModelName,
  withoutResourcePath,
  withoutSnapshot,
} from "../../../core/pricing/model-match.ts";

describe("matchesRule()", () => {
  const cases: [rule: MatchRule, yes: string[], no: string[]][] = [
    ["=gpt-5", ["gpt-5"], ["gpt-5-mini", "gpt", ""]],
    ["^gpt-5", ["gpt-5", "gpt-5-mini"], ["x-gpt-5", "gpt-"]],
    ["$-free", ["a-free"], ["a-free-b", "free"]],
    ["~claude", ["claude", "eu.claude-x"], ["claud"]],
    ["#a-##", ["a-12"], ["a-1", "a-123", "a-1x", "b-12", "a-1:", "a-1/"]],
    ["%a-#", ["a-1", "a-1-preview"], ["a-", "a-x", "a"]],
    ["!tts", ["a", "a-ttsx", "tts"], ["a-tts", "a-tts-b"]],
    [["=a", "=b"], ["a", "b"], ["c"]],
    [
      ["&", "^a", "$z"],
      ["az", "a-z"],
      ["a", "z"],
    ],
    [[], [], ["a"]],
  ];
  for (const [rule, yes, no] of cases) {
    it(`matches ${JSON.stringify(rule)} with ${yes.join(", ") || "nothing"}`, () => {
      assert.deepEqual(
        yes.filter((name) => !matchesRule(rule, name)),
        [],
      );
      assert.deepEqual(
        no.filter((name) => matchesRule(rule, name)),
        [],
      );
    });
  }

  it("rejects a rule of an unknown kind", () => {
    assert.throws(
      () => matchesRule("gpt-5", "gpt-5"),
      /match rule must start with one of .*: current value is "gpt-5"/,
    );
  });
});

describe("functions for the names of snapshots", () => {
  const cases: [read: (name: string) => string, name: string, becomes: string][] = [
    [normaliseModelName, " GPT-5 ", "gpt-5"],
    [normaliseModelName, "x".repeat(257), ""],
    [dashDate, "gpt-5-20250807", "gpt-5-2025-08-07"],
    [dashDate, "a-20250807:free", "a-2025-08-07:free"],
    [dashDate, "gpt-5-20251307", "gpt-5-20251307"],
    [dashDate, "gpt-5-202508070", "gpt-5-202508070"],
    [withoutSnapshot, "gpt-5-2025-08-07", "gpt-5"],
    [withoutSnapshot, "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    [withoutSnapshot, "gemini-2.0-flash-001", "gemini-2.0-flash"],
    [withoutSnapshot, "grok-4-latest", "grok-4"],
    [withoutSnapshot, "latest", "latest"],
    [withoutResourcePath, "models/gemini-2.5-pro", "gemini-2.5-pro"],
    [withoutResourcePath, "publishers/anthropic/models/claude-opus-5@20260724", "claude-opus-5-20260724"],
    [withoutResourcePath, "claude-opus-5@default", "claude-opus-5"],
    [withoutResourcePath, "anthropic/claude-opus-5", "anthropic/claude-opus-5"],
  ];
  for (const [read, name, becomes] of cases) {
    it(`${read.name}() converts ${name.slice(0, 50)} to ${becomes === "" ? "nothing" : becomes}`, () => {
      assert.equal(read(name), becomes);
    });
  }
});
