import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wrap, wrapLine } from "../../../cli/render/wrap.ts";

describe("wrap()", () => {
  it("breaks between words, never inside one", () => {
    assert.deepEqual(wrap("aa bb cc", 5), ["aa bb", "cc"]);
    assert.deepEqual(wrap("http://a.very.long/address is one", 10), ["http://a.very.long/address", "is one"]);
    assert.deepEqual(wrap("", 5), [""]);
  });
});

describe("wrapLine()", () => {
  it("indents following lines to the text after the label", () => {
    const line = "cloud     DEGRADED: Several tries in a row have failed.";
    assert.equal(wrapLine(line, 40), "cloud     DEGRADED: Several tries in a\n          row have failed.");
    assert.equal(
      wrapLine("last error  disk_full: it is full now", 32),
      "last error  disk_full: it is\n            full now",
    );
    assert.equal(wrapLine(line, Number.POSITIVE_INFINITY), line);
  });

  it("wraps a sentence without a label at the full width", () => {
    assert.equal(wrapLine("One two three four five six", 20), "One two three four\nfive six");
  });
});
