import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LimitView } from "../../../daemon/limits/limit-views.ts";
import { renderLimitsPanel } from "../../../daemon/page/limits-panel.ts";

const limit = (members: Partial<LimitView> = {}): LimitView => ({
  id: 1,
  provider: "anthropic",
  account: "0123456789abcdef",
  window: "5h",
  scope: null,
  unit: "share",
  used_percent: 62.9,
  limit: null,
  remaining: null,
  resets_at: "2026-08-31T11:00:00.000Z",
  status: null,
  level: "ok",
  seen_at: "2026-08-31T09:00:00.000Z",
  is_over: false,
  elapsed_percent: 60.4,
  burn_percent_per_hour: 10,
  full: "lasts",
  full_at: null,
  ...members,
});

const render = (...limits: LimitView[]) => String(renderLimitsPanel(limits));

describe("renderLimitsPanel()", () => {
  it("renders nothing without limits", () => assert.equal(render(), ""));

  it("shows use, elapsed time, reset and forecast", () => {
    const page = render(limit());
    assert.match(page, /<bdi>anthropic 012345<\/bdi>/);
    assert.match(page, /aria-label="62 % used, 60 % of the time has passed"/);
    assert.match(page, /<rect class="part" width="62.9"/);
    assert.match(page, /<td class="number">62 %<\/td>/);
    assert.match(page, /lasts/);
  });

  it("marks what is nearly used up, and knows nothing of a window that has reset", () => {
    assert.match(
      render(limit({ level: "exceeded", used_percent: null })),
      /<span class="failed">used up<\/span>/,
    );
    assert.match(render(limit({ full: "full" })), />now</);
    assert.match(render(limit({ full: "at", full_at: "2026-08-31T10:00:00.000Z" })), /about /);
    const over = render(limit({ is_over: true, used_percent: null, full: "unknown" }));
    assert.match(over, /since /);
    assert.ok(!over.includes("<svg"));
    assert.match(render(limit({ elapsed_percent: null, resets_at: null })), /aria-label="62 % used"/);
  });

  it("escapes names", () => {
    const page = render(limit({ provider: "<b>", scope: "<i>", unit: "tokens", account: null }));
    assert.match(page, /<bdi>5h tokens &lt;i&gt;<\/bdi>/);
    assert.match(page, /<bdi>&lt;b&gt;<\/bdi>/);
  });
});
