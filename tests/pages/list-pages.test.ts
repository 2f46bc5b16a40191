import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderListPages } from "../../pages/list-pages.ts";
import { readView } from "../../pages/view.ts";

const viewOf = (query: string) =>
  readView({ path: "/requests", keys: { cursor: [] }, filters: [] }, new URLSearchParams(query));

describe("renderListPages()", () => {
  it("shows nothing where the first page has the whole list", () => {
    assert.equal(String(renderListPages(viewOf(""), null, "requests")), "");
  });

  it("leads to the next page, and from a later one to the first", () => {
    assert.match(
      String(renderListPages(viewOf(""), "next", "requests")),
      /<span><\/span><a href="\/requests\?cursor=next" rel="next" data-key="n">Earlier<\/a>/,
    );
    assert.match(
      String(renderListPages(viewOf("cursor=last"), null, "requests", false)),
      /<a href="\/requests">First page<\/a><span class="quiet">No more requests\.<\/span>/,
    );
  });
});
