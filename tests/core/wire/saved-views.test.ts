import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import {
  newSavedViewSchema,
  SAVED_VIEW_NAME_MAX,
  SAVED_VIEW_QUERY_MAX,
  savedViewPatchSchema,
} from "../../../core/wire/saved-views.ts";
import { weeklySummarySchema } from "../../../core/wire/weekly-summary.ts";

describe("the schemas of saved views", () => {
  it("accept a page with a query and a name without spaces around it, private unless it says otherwise", () => {
    assert.deepEqual(parseWire(newSavedViewSchema, { name: " a ", page: "/", query: "" }), {
      ok: true,
      value: { name: "a", page: "/", query: "", shared: false },
    });
  });

  it("refuse other pages, and names and queries that are too long", () => {
    const view = { name: "a", page: "/explore", query: "" };
    for (const change of [
      { page: "https://example.com" },
      { page: "/views" },
      { name: " " },
      { name: "a".repeat(SAVED_VIEW_NAME_MAX + 1) },
      { query: "a".repeat(SAVED_VIEW_QUERY_MAX + 1) },
    ])
      assert.equal(parseWire(newSavedViewSchema, { ...view, ...change }).ok, false, JSON.stringify(change));
  });

  it("refuse a change of nothing", () => {
    assert.equal(parseWire(savedViewPatchSchema, {}).ok, false);
    assert.ok(parseWire(savedViewPatchSchema, { shared: true }).ok);
  });
});

describe("the schema of the weekly summary", () => {
  it("requires a decision", () => {
    assert.ok(parseWire(weeklySummarySchema, { enabled: true }).ok);
    assert.equal(parseWire(weeklySummarySchema, {}).ok, false);
  });
});
