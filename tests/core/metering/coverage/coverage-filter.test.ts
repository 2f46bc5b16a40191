import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  hasKnownKinds,
  passes,
  printValueFilter,
  readValueFilter,
  selectKinds,
} from "../../../../core/metering/coverage/coverage-filter.ts";

const read = (text: string) => readValueFilter(new URLSearchParams(text), "host");

describe("readValueFilter()", () => {
  it("reads values that are selected or excluded, and printValueFilter() prints them", () => {
    for (const [text, filter] of [
      ["", null],
      ["kind=lost", null],
      ["host=a&host=&kind=lost", { not: false, values: ["a", ""] }],
      ["host.not=a&host.not=b", { not: true, values: ["a", "b"] }],
      ["host=a&host=b&host.not=b", { not: false, values: ["a"] }],
    ] as const) {
      assert.deepEqual(read(text), filter, text);
      assert.deepEqual(read(`${new URLSearchParams(printValueFilter("host", filter))}`), filter, text);
    }
  });
});

describe("passes()", () => {
  it("is true of the values that a filter selects, and of all without one", () => {
    for (const [text, passed] of [
      ["", ["a", "b", ""]],
      ["host=a&host=", ["a", ""]],
      ["host.not=a", ["b", ""]],
      ["host=a&host.not=a", []],
    ] as const)
      assert.deepEqual(
        ["a", "b", ""].filter((value) => passes(read(text), value)),
        passed,
        text,
      );
  });
});

describe("selectKinds()", () => {
  it("tells what is left of the seen calls: those that were metered, and kinds of missed ones", () => {
    assert.deepEqual(selectKinds({ not: false, values: ["metered", "lost", "without_usage"] }), {
      hasMetered: true,
      missing: { not: false, kinds: ["lost"] },
    });
    assert.deepEqual(selectKinds({ not: true, values: ["unknown_path", "free"] }), {
      hasMetered: true,
      missing: { not: true, kinds: ["unknown_path"] },
    });
    assert.equal(selectKinds({ not: true, values: ["metered"] }).hasMetered, false);
  });
});

describe("hasKnownKinds()", () => {
  it("is false if a filter by kind has a value that no counter has", () => {
    for (const [text, isKnown] of [
      ["", true],
      ["kind=lost&kind.not=metered&host=x", true],
      ["kind=lost&kind=poem", false],
      ["kind.not=poem", false],
      ["kind=", false],
    ] as const)
      assert.equal(hasKnownKinds(new URLSearchParams(text)), isKnown, text);
  });
});
