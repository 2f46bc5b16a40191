import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import {
  newSavedViewSchema,
  SAVED_VIEW_NAME_MAX,
  SAVED_VIEW_PAGES,
  SAVED_VIEW_QUERY_MAX,
  savedViewPatchSchema,
  savedViewsSchema,
} from "../../../core/wire/saved-views.ts";

const view = { name: "Agents", page: "/explore", query: "group=model", shared: true };

describe("a new saved view", () => {
  it("is of a page, and private unless it says otherwise", () => {
    for (const page of SAVED_VIEW_PAGES)
      assert.deepEqual(parseWire(newSavedViewSchema, { ...view, page }), {
        ok: true,
        value: { ...view, page },
      });
    const { shared: _, ...unshared } = view;
    assert.deepEqual(parseWire(newSavedViewSchema, unshared), {
      ok: true,
      value: { ...unshared, shared: false },
    });
  });

  it("has a name without spaces around it", () => {
    const parsed = parseWire(newSavedViewSchema, { ...view, name: "  Agents " });
    assert.equal(parsed.ok && parsed.value.name, "Agents");
  });

  it("accepts the longest name and query, and rejects longer ones", () => {
    const fits = (change: object) => parseWire(newSavedViewSchema, { ...view, ...change }).ok;
    assert.ok(fits({ name: "x".repeat(SAVED_VIEW_NAME_MAX), query: "q".repeat(SAVED_VIEW_QUERY_MAX) }));
    assert.ok(!fits({ name: "x".repeat(SAVED_VIEW_NAME_MAX + 1) }));
    assert.ok(!fits({ query: "q".repeat(SAVED_VIEW_QUERY_MAX + 1) }));
  });

  it("says what is wrong, without the value", () => {
    const problemsOf = (change: object) => {
      const parsed = parseWire(newSavedViewSchema, { ...view, ...change });
      return parsed.ok ? [] : parsed.problems.map(({ field }) => field);
    };
    assert.deepEqual(problemsOf({ name: "   " }), ["name"]);
    assert.deepEqual(problemsOf({ page: "/settings" }), ["page"]);
    assert.deepEqual(problemsOf({ query: undefined, shared: "yes" }), ["query", "shared"]);
  });
});

describe("a change of a saved view", () => {
  it("sets its name, whether it is shared, or both, and must set one", () => {
    for (const patch of [{ name: "Models" }, { shared: false }, { name: "Models", shared: true }])
      assert.deepEqual(parseWire(savedViewPatchSchema, patch), { ok: true, value: patch });
    for (const patch of [{}, { query: "group=model" }])
      assert.deepEqual(parseWire(savedViewPatchSchema, patch), {
        ok: false,
        problems: [{ field: "", problem: "must change something" }],
      });
  });
});

describe("the saved views of a workspace", () => {
  it("parse what was printed", () => {
    const item = {
      ...view,
      ...{ id: "v1", user_id: "u1", can_change: false, created_at: "2026-11-27T09:00:00.000Z" },
    };
    const answer = { items: [item] };
    const printed = JSON.parse(JSON.stringify(answer));
    assert.deepEqual(parseWire(savedViewsSchema, printed), { ok: true, value: answer });
    assert.ok(!parseWire(savedViewsSchema, { items: [{ ...item, created_at: "today" }] }).ok);
  });
});
