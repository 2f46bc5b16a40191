import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeCoverageFigure, renderCoverageLine } from "../../pages/coverage-figure.ts";
import { createPartReader, renderFailedParts, UNREAD_COVERAGE } from "../../pages/page-parts.ts";

describe("createPartReader()", () => {
  it("returns what is shown without a part that fails, reports its error, and reads the others", async () => {
    const seen: unknown[] = [];
    const parts = createPartReader((error) => {
      seen.push(error);
      return "unavailable";
    });
    const [thrown, rejected] = [new Error("one"), new Error("two")];
    const throwing = (): number => {
      throw thrown;
    };
    assert.equal(await parts.read("coverage", async () => 7, 0), 7);
    assert.deepEqual(parts.failed, []);
    assert.equal(await parts.read<number | null>("limits", throwing, null), null);
    assert.equal(await parts.read<string>("budgets", () => Promise.reject(rejected), "–"), "–");
    assert.deepEqual(seen, [thrown, rejected]);
    assert.deepEqual(parts.failed, [
      { name: "limits", code: "unavailable" },
      { name: "budgets", code: "unavailable" },
    ]);
  });

  it("does not treat an error as a failed part if the callback throws it", async () => {
    const left = new Error("the browser left");
    const parts = createPartReader((error) => {
      throw error;
    });
    await assert.rejects(() => parts.read("coverage", () => Promise.reject(left), null), left);
    assert.deepEqual(parts.failed, []);
  });
});

describe("renderFailedParts()", () => {
  it("names the parts, each code once, and a way to try again", async () => {
    const part = (name: string, code = "internal") => ({ name, code });
    assert.equal(renderFailedParts([], "/"), "");
    const text = `${await renderFailedParts([part("coverage"), part("limits"), part("<b>", "unavailable")], "/now?a=1&b=2")}`;
    assert.match(text, /role="alert">Could not be read: coverage, limits, &lt;b&gt;\. The rest of this page/);
    assert.match(text, /Codes: <code>internal<\/code>, <code>unavailable<\/code>/);
    assert.match(text, /<a href="\/now\?a=1&amp;b=2">Try again<\/a>/);
  });
});

describe("the coverage of a page that could not read it", () => {
  it("is said to be unread, and is no figure", () => {
    assert.equal(describeCoverageFigure(UNREAD_COVERAGE), "could not be read");
    const line = `${renderCoverageLine(UNREAD_COVERAGE, "/coverage")}`;
    assert.equal(line, ' <span class="bad">Coverage could not be read.</span>');
  });
});
