import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDistinctTexts } from "../../../../core/metering/usage/distinct-texts.ts";

describe("createDistinctTexts()", () => {
  it("counts each text once", () => {
    const texts = createDistinctTexts();
    for (const text of ["a", "b", "a"]) texts.add(text);
    assert.equal(texts.count(), 2);
  });

  it("keeps no more than a mebibyte of them", () => {
    const texts = createDistinctTexts();
    for (const letter of ["a", "b", "c", "d"]) texts.add(letter.repeat(400_000));
    assert.equal(texts.count(), 2);
    texts.add("short");
    assert.equal(texts.count(), 3);
  });
});
