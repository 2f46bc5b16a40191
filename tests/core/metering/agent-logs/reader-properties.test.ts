import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { LogEntry } from "../../../../core/metering/agent-logs/log-entry.ts";
import { totalTokens } from "../../../../core/metering/agent-logs/log-entry.ts";
import {
  LOG_FORMATS,
  type LogFormatName,
  logFormatOf,
} from "../../../../core/metering/agent-logs/log-formats.ts";
import { mergeEntries, readLog, readSample } from "./read-log.rig.ts";

/** The formats with a sample of their own. */
const FORMATS: readonly LogFormatName[] = [
  "claude",
  "codex",
  "gemini",
  "qwen",
  "opencode",
  "copilot",
  "goose",
  "amp",
  "cline",
  "roo",
  "pi",
];

const readerOf = (name: LogFormatName) => logFormatOf(name).reader;

const sum = (entries: Iterable<LogEntry>) =>
  [...entries].reduce((total, entry) => total + totalTokens(entry), 0);

/** The tokens of each call, without what depends on lines before it. */
const byKey = (entries: readonly LogEntry[]) =>
  Object.fromEntries([...mergeEntries(entries)].map(([key, entry]) => [key, totalTokens(entry)]).sort());

const isSound = ({ at, key, model, provider, tokens }: LogEntry) =>
  Number.isSafeInteger(at) &&
  at > 0 &&
  key !== "" &&
  model !== "" &&
  provider !== "" &&
  Object.values(tokens).every((count) => count === null || (Number.isSafeInteger(count) && count >= 0));

/** Replaces one value somewhere in the JSON text of an item. */
function damage(item: unknown, at: number, value: unknown): unknown {
  const places: [holder: Record<string, unknown>, name: string][] = [];
  const collect = (holder: unknown) => {
    if (typeof holder !== "object" || holder === null) return;
    for (const name of Object.keys(holder)) {
      places.push([holder as Record<string, unknown>, name]);
      collect((holder as Record<string, unknown>)[name]);
    }
  };
  const copy = { root: structuredClone(item) };
  collect(copy);
  const [holder, name] = places[at % places.length]!;
  if (name !== "__proto__") holder[name] = value;
  return copy.root;
}

describe("every reader", () => {
  for (const name of FORMATS) {
    const items = readSample(name);
    const all = mergeEntries(readLog(readerOf(name), items).entries);

    // Seen to fail when a call of Codex got another key after its counter had been stored.
    it(`${name}: stores each call once, wherever a file is cut between two imports`, () => {
      for (let cut = 0; cut <= items.length; cut++) {
        const reader = readerOf(name);
        const before = readLog(reader, items.slice(0, cut)).entries;
        const merged = mergeEntries([...before, ...readLog(reader, items).entries]);
        assert.deepEqual([...merged.keys()].sort(), [...all.keys()].sort(), `cut at ${cut}`);
        assert.equal(sum(merged.values()), sum(all.values()), `cut at ${cut}`);
      }
    });

    it(`${name}: finds no more in a part of a file than in all of it`, () => {
      for (let cut = 0; cut <= items.length; cut++) {
        const part = mergeEntries(readLog(readerOf(name), items.slice(0, cut)).entries);
        for (const [key, entry] of part) assert.ok(totalTokens(entry) <= totalTokens(all.get(key)!), key);
      }
    });

    it(`${name}: ignores other lines`, () => {
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.nat(items.length), fc.jsonValue()), { maxLength: 10 }),
          (garbage) => {
            const mixed = [...items];
            for (const [at, value] of garbage) mixed.splice(at, 0, value);
            const { entries } = readLog(readerOf(name), mixed);
            assert.equal(sum(mergeEntries(entries).values()), sum(all.values()));
          },
        ),
        { numRuns: 50 },
      );
    });

    // Seen to fail when a text was made of `{toString: ""}`, and when Roo's input was reduced by caches that exceed it.
    it(`${name}: makes sound entries of damaged lines, and never throws`, () => {
      const values = fc.oneof(
        fc.jsonValue(),
        fc.constantFrom<unknown>(
          -1,
          0,
          1.5,
          2 ** 53,
          null,
          "",
          { toString: "" },
          "x".repeat(5000),
          [],
          {},
          true,
        ),
      );
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.nat(), fc.nat(), values), { minLength: 1, maxLength: 5 }),
          (damages) => {
            const damaged = [...items];
            for (const [line, at, value] of damages) {
              const index = line % items.length;
              damaged[index] = damage(damaged[index], at, value);
            }
            const { entries } = readLog(readerOf(name), damaged);
            assert.ok(entries.every(isSound));
          },
        ),
        {
          numRuns: 200,
          // A call of Claude's iterations without a name of its model.
          examples: [[[[834501935, 369238053, ""]]]],
        },
      );
    });

    it(`${name}: finds the same calls in a copy of the file below itself`, () => {
      const twice = mergeEntries(readLog(readerOf(name), [...items, ...items]).entries);
      assert.deepEqual(byKey([...twice.values()]), byKey([...all.values()]));
    });
  }

  for (const name of ["claude", "gemini", "opencode", "goose", "amp", "cline", "roo"] as const) {
    it(`${name}: finds the same calls in any order of the lines`, () => {
      const items = readSample(name);
      const reader = readerOf(name);
      // The session of Gemini's files is in their first line.
      const [first, ...others] = items;
      const expected = byKey(readLog(reader, items).entries);
      fc.assert(
        fc.property(fc.shuffledSubarray(others, { minLength: others.length }), (shuffled) => {
          assert.deepEqual(byKey(readLog(reader, [first, ...shuffled]).entries), expected);
        }),
        { numRuns: 50 },
      );
    });
  }

  it("searches for strings that are in each line that it reads", () => {
    let leftOut = 0;
    for (const [name, { kind, reader }] of Object.entries(LOG_FORMATS)) {
      if (kind !== "lines") continue;
      const items = readSample(name as LogFormatName);
      const relevant = items.filter((item) => {
        const text = JSON.stringify(item);
        return reader.needles.some((needle) => text.includes(needle));
      });
      assert.deepEqual(
        readLog(reader, relevant).entries.map(({ key }) => key),
        readLog(reader, items).entries.map(({ key }) => key),
        name,
      );
      leftOut += items.length - relevant.length;
    }
    assert.ok(leftOut > 5);
  });
});
