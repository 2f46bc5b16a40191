import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

/** The share of common words above which two entries say the same. */
const MAX_COMMON_SHARE = 0.5;

/** Entries with fewer words have too little text to be compared. */
const MIN_WORDS = 6;

/** Returns the entries of the list, each with its continuation lines. */
function readEntries(markdown: string): string[] {
  const entries: string[] = [];
  let isInEntry = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("- ")) entries.push(line.slice(2));
    else if (line.startsWith("  ") && isInEntry) entries.push(`${entries.pop()} ${line.trim()}`);
    isInEntry = line.startsWith("- ") || (line.startsWith("  ") && isInEntry);
  }
  return entries;
}

const wordsOf = (entry: string): ReadonlySet<string> =>
  new Set(entry.toLowerCase().match(/[\p{L}\p{N}_./-]{4,}/gu) ?? []);

/** Returns pairs of entries whose words are mostly the same. */
function findRepeats(entries: readonly string[]): string[] {
  const words = entries.map(wordsOf);
  return entries.flatMap((entry, at) =>
    entries.slice(0, at).flatMap((earlier, index) => {
      const [one, other] = [words[at], words[index]];
      if (one === undefined || other === undefined || Math.min(one.size, other.size) < MIN_WORDS) return [];
      const common = [...one].filter((word) => other.has(word)).length;
      return common / (one.size + other.size - common) > MAX_COMMON_SHARE ? [`${earlier}\n${entry}`] : [];
    }),
  );
}

describe("CHANGELOG.md", () => {
  const entries = readEntries(readFileSync("CHANGELOG.md", "utf8"));

  it("has entries that end with a sentence", () => {
    assert.ok(entries.length > 100);
    assert.deepEqual(
      entries.filter((entry) => !/[.:)]$/.test(entry)),
      [],
    );
  });

  it("has no entry twice", () => assert.deepEqual(findRepeats(entries), []));
});

describe("findRepeats()", () => {
  it("finds an entry that was only reworded", () => {
    const entry = "The local page Now shows the budgets and which of them refuse calls in flight.";
    const reworded = "The local page Now shows the budgets, and those of them that refuse calls in flight.";
    assert.equal(
      findRepeats([entry, reworded, "Another change of the local page and its budgets."]).length,
      1,
    );
  });
});
