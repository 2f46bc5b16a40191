import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addQueries, joinQueries } from "../../../../core/values/text/query-string.ts";

describe("joinQueries()", () => {
  it("leaves out empty ones", () => {
    assert.equal(joinQueries("from=1", "", "sort=cost"), "from=1&sort=cost");
    assert.equal(joinQueries("", ""), "");
  });
});

describe("addQueries()", () => {
  it("adds a question mark only before a query", () => {
    assert.equal(addQueries("/sessions", "", "sort=cost"), "/sessions?sort=cost");
    assert.equal(addQueries("/sessions", ""), "/sessions");
  });
});
