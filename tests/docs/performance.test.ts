import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { drawBars } from "../../bench/summary/draw-bars.ts";
import { type BenchResult, type Goal, RESULTS_FOLDER } from "../../bench/summary/results.ts";
import { writePage } from "../../bench/summary/write-page.ts";

const docs = join(import.meta.dirname, "../../docs");

const resultOf = (goals: readonly Goal[], peer = "nginx"): BenchResult => ({
  bench: "proxy",
  command: "npm run bench:proxy",
  date: "2026-11-23",
  machine: "Node v24",
  loadBefore: 0.1,
  measures: [
    {
      title: "CPU <of> a call",
      unit: "µs",
      bars: [
        { name: "meter", value: 100 },
        { name: peer, value: 50 },
      ],
      goals,
    },
  ],
});

const rowOf = (result: BenchResult) =>
  (writePage([result]).get("performance.md") ?? "").split("\n").find((line) => line.startsWith("| proxy"));

describe("docs/performance.md", () => {
  it("is what npm run bench:summary writes from the stored results", () => {
    const results = readdirSync(RESULTS_FOLDER).map(
      (name) => JSON.parse(readFileSync(join(RESULTS_FOLDER, name), "utf8")) as BenchResult,
    );
    const files = writePage(results);
    for (const [path, text] of files) assert.equal(readFileSync(join(docs, path), "utf8"), text, path);
    assert.deepEqual(
      readdirSync(join(docs, "performance")).sort(),
      [...files.keys()].flatMap((path) => /^performance\/(.*)/.exec(path)?.[1] ?? []).sort(),
    );
  });
});

describe("writePage()", () => {
  for (const [goals, expected] of [
    [[], " |  |"],
    [[{ peer: "nginx", most: 2 }], "≤ 2 times nginx | yes |"],
    [[{ peer: "nginx", most: 1.9 }], "≤ 1.9 times nginx | no |"],
    [[{ peer: "nginx", least: 2.1 }], "≥ 2.1 times nginx | no |"],
    [[{ peer: null, most: 100 }], "≤ 100 µs | yes |"],
    [
      [
        { peer: null, most: 100 },
        { peer: "absent", most: 9 },
      ],
      "≤ 100 µs and ≤ 9 times absent | no |",
    ],
  ] as const) {
    it(`compares with the goals ${JSON.stringify(goals)}`, () =>
      assert.equal(
        rowOf(resultOf(goals)),
        `| proxy | CPU <of> a call | 100 µs | nginx 50.0 µs (2.00 times) | ${expected}`.replace(
          "|  |  |",
          "|  |  |",
        ),
      ));
  }
});

describe("a page without all results", () => {
  it("names the benches without one", () =>
    assert.match(
      writePage([resultOf([])]).get("performance.md") ?? "",
      /^No stored results: `new-connections`, `memory`, .*`ingest`\.$/m,
    ));
});

describe("drawBars()", () => {
  it("draws a bar for each contender and a line for each goal whose peer was measured", () => {
    const { measures } = resultOf([
      { peer: "nginx", most: 1.5 },
      { peer: "absent", most: 1 },
    ]);
    const svg = drawBars(measures[0] ?? assert.fail());
    assert.match(svg, /aria-label="CPU &lt;of> a call, µs"/);
    assert.equal(svg.match(/<rect x/g)?.length, 2);
    assert.equal(svg.match(/<line/g)?.length, 1);
    const widths = [...svg.matchAll(/<rect x="170" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    assert.ok(Math.abs((widths[0] ?? 0) / (widths[1] ?? 1) - 2) < 0.01);
  });
});
