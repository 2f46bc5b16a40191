import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { drawStates, statesFile } from "../../tools/draw-states.ts";

describe("docs/states.md", () => {
  it("matches the tables (else run: node tools/draw-states.ts)", () => {
    assert.equal(readFileSync(statesFile, "utf8"), drawStates());
  });
});

describe("drawStates()", () => {
  it("draws an arrow for each change of state, with the event and the table's label", () => {
    const drawn = drawStates();
    assert.ok(drawn.includes("  active --> paused_unauthorised: batch_answered (401)\n"));
    assert.match(drawn, /\| `active` +\| `tick_due` +\| a run starts or continues +\|\n/);
  });

  it("removes characters that would end a label in Mermaid", () => {
    for (const line of drawStates().split("\n")) {
      if (line.includes(" --> ")) assert.match(line, /^ {2}\S+ --> [^:;]+(: [^:;]+)?$/);
    }
  });
});
