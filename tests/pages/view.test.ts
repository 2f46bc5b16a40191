import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { filterValue, readView, type ViewSpec, viewHref, withFilter } from "../../pages/view.ts";
import { anyCharacter } from "../core/any-character.rig.ts";

const spec: ViewSpec = {
  path: "/things",
  keys: { period: ["30d", "7d"], cursor: [], sort: ["latest", "cost"] },
  filters: ["project", "model"],
};
const read = (query: string) => readView(spec, new URLSearchParams(query));

describe("readView()", () => {
  it("omits defaults from addresses", () => {
    assert.equal(viewHref(read("period=30d&sort=latest")), "/things");
    assert.equal(viewHref(read("sort=cost&period=7d")), "/things?period=7d&sort=cost");
  });

  it("reports unknown keys and values", () => {
    const { notices, values } = read("period=2d&colour=red&format=csv");
    assert.equal(values.period, "30d");
    assert.deepEqual(notices, [
      "“2d” is not a value of “period”. Expected: 30d, 7d.",
      "This page has no “colour”. It is left out.",
    ]);
  });

  it("reads filters that repeat and that exclude", () => {
    const view = readView(
      { ...spec, areUsage: true },
      new URLSearchParams("project=a&project.not=b&model=m&model="),
    );
    assert.deepEqual(view.filters, [
      { name: "project", value: "a", excludes: false },
      { name: "project", value: "b", excludes: true },
      { name: "model", value: "m", excludes: false },
      { name: "model", value: "", excludes: false },
    ]);
    assert.equal(filterValue(view, "project"), "a");
    assert.equal(viewHref(view), "/things?project=a&project.not=b&model=m&model=");
    // Other pages would not apply it.
    const other = read("project.not=b&model=");
    assert.deepEqual(other.filters, []);
    assert.deepEqual(other.notices, ["This page has no “project.not”. It is left out."]);
  });

  it("returns to the first page when anything else changes", () => {
    const view = read("cursor=81&sort=cost");
    assert.equal(viewHref(view), "/things?cursor=81&sort=cost");
    assert.equal(viewHref(view, { values: { period: "7d" } }), "/things?period=7d&sort=cost");
    assert.equal(
      viewHref(view, { filters: withFilter(view.filters, "model", "m") }),
      "/things?sort=cost&model=m",
    );
    assert.equal(viewHref(view, { values: { cursor: "12" } }), "/things?cursor=12&sort=cost");
  });

  it("keeps the keys and filters that the other page has too", () => {
    const other: ViewSpec = { path: "/others", keys: { period: ["30d", "7d"] }, filters: ["model"] };
    assert.equal(
      viewHref(read("period=7d&sort=cost&project=p&model=m"), { spec: other }),
      "/others?period=7d&model=m",
    );
  });

  it("is the same after a round trip through its address", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.constantFrom("period", "sort", "cursor", "project", "project.not", "model", "x", "model.not"),
            fc.oneof(
              fc.constantFrom("7d", "cost", "", "a&b=c#d"),
              fc.string({ unit: anyCharacter, maxLength: 12 }),
            ),
          ),
        ),
        (pairs) => {
          const view = readView(spec, new URLSearchParams(pairs));
          const again = readView(spec, new URL(viewHref(view), "http://host").searchParams);
          assert.deepEqual([again.values, again.filters], [view.values, view.filters]);
          assert.deepEqual(again.notices, []);
        },
      ),
    );
  });
});
