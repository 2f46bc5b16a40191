import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderPeriods } from "../../pages/filters.ts";
import { readUsageView, renderUsagePeriods } from "../../pages/usage-view.ts";
import { readView } from "../../pages/view.ts";
import { OVERVIEW_VIEW } from "../../pages/views/overview.ts";
import { sessionsSpec } from "../../pages/views/sessions.ts";

const clock = { now: Date.UTC(2026, 10, 23, 13, 30), zone: "Europe/Berlin" };

/** The addresses by their keys, and the current period. */
function read(markup: string) {
  const links = [...markup.matchAll(/href="([^"]+)"[^>]*data-key="(\w+)"/g)];
  const current = /id="period-(\w+)"[^>]*aria-current/.exec(markup);
  return {
    byKey: Object.fromEntries(links.map(([, href = "", key]) => [key, href.replaceAll("&amp;", "&")])),
    current: current?.[1],
  };
}

describe("the periods of a page", () => {
  const list = (query: string) =>
    read(String(renderPeriods(readView(sessionsSpec(["project"]), new URLSearchParams(query)), clock)));
  const usage = (query: string) =>
    read(String(renderUsagePeriods(readUsageView(OVERVIEW_VIEW, new URLSearchParams(query)), clock)));

  it("step with the arrow keys, and keep the rest of the address", () => {
    const { byKey } = list("sort=cost&project=apollo");
    assert.equal(byKey.ArrowLeft, "/sessions?from=2026-09-25&to=2026-10-25&sort=cost&project=apollo");
    assert.equal(byKey.ArrowRight, undefined);
    assert.equal(list("from=2026-09-25&to=2026-10-25&sort=cost").byKey.ArrowRight, "/sessions?sort=cost");
    assert.equal(usage("period=mtd&by=client").byKey.ArrowLeft, "/?period=month&by=client");
    assert.equal(usage("from=2026-11-22&to=2026-11-23").byKey.ArrowRight, "/?period=today");
  });

  it("step in the zone of the address", () => {
    const day = "from=2026-11-22T18:15:00.000Z&to=2026-11-23T18:15:00.000Z";
    assert.equal(
      usage(`${day}&tz=Asia%2FKathmandu`).byKey.ArrowLeft,
      "/?from=2026-11-22&to=2026-11-23&tz=Asia%2FKathmandu",
    );
  });

  it("replace bounds, none of which is the current period", () => {
    for (const show of [list, usage]) {
      const { byKey, current } = show("from=2026-11-01&to=2026-11-08");
      assert.equal(current, undefined);
      assert.match(byKey.w ?? "", /\?period=7d$/);
      assert.doesNotMatch(byKey.m ?? "from", /from/);
      assert.equal(show("").current, "30d");
    }
  });
});
