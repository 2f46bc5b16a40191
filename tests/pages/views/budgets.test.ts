import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BudgetLine, renderBudgetPanel, renderBudgetsNow } from "../../../pages/views/budgets.ts";

const clock = { now: Date.UTC(2026, 10, 18, 12), zone: "UTC" };
const HOUR = "2026-11-18T13:00:00.000Z";

const line = (more: Partial<BudgetLine> = {}): BudgetLine => ({
  ...{ name: "day", budget: { period: "day", at_limit: "block", thresholds: [50, 100] }, unit: "requests" },
  ...{ status: "ok", limit: "100", spent: "20", in_flight: "0", calls_in_flight: 0, used_percent: 20 },
  ...{ period_to: HOUR, gone_at: null, lifted_until: null, tripped_until: null, session: null },
  ...{ let_through: {}, fleet: null },
  ...more,
});
const lines = (budgets: readonly BudgetLine[], letThrough = 0) => ({ budgets, letThrough, early: 0 });
const panel = (more: Partial<BudgetLine>) => `${renderBudgetPanel(lines([line(more)]), clock as never)}`;

describe("renderBudgetPanel()", () => {
  it("shows until when a budget is lifted or a guard stops calls, with the command that lifts only the latter", () => {
    const lifted = panel({ status: "lifted", lifted_until: HOUR });
    assert.match(lifted, /lifted until <time[^>]*2026-11-18T13:00/);
    assert.doesNotMatch(lifted, /budget lift/);
    const tripped = panel({ name: "loop", status: "tripped", tripped_until: HOUR });
    assert.match(tripped, /refuses calls until<\/span> <time[^>]*2026-11-18T13:00/);
    assert.match(tripped, /meter budget lift loop --for 1h/);
    const warns = {
      budget: { period: "1m", at_limit: "warn" },
      status: "tripped",
      tripped_until: HOUR,
    } as const;
    assert.match(panel(warns), /reached until<\/span>/);
    assert.doesNotMatch(panel(warns), /budget lift/);
  });

  it("shows a budget of a workspace with its page instead of a command, and that other machines are not known", () => {
    const fleet = { workspace: "Acme & Co", address: "https://cloud.example/w/1/budgets" };
    const used = panel({ name: "workspace/all", status: "exceeded", used_percent: 100, spent: "100", fleet });
    assert.match(used, /Administrators of <bdi>Acme &amp; Co<\/bdi> can change/);
    assert.match(used, /<a href="https:\/\/cloud\.example\/w\/1\/budgets">/);
    assert.doesNotMatch(used, /budget lift/);
    const outdated = panel({ name: "workspace/all", status: "outdated", fleet });
    assert.match(outdated, /the spend of other machines is not known/);
  });

  it("marks where the bar ends with the calls in flight", () => {
    const flying = panel({ in_flight: "30", calls_in_flight: 2 });
    assert.match(flying, /<rect class="f0" width="20" height="8" \/><rect class="now" x="50"/);
    assert.match(flying, /up to 30 requests in flight/);
    assert.doesNotMatch(panel({}), /class="now"/);
    assert.doesNotMatch(panel({ limit: "0", calls_in_flight: 1, in_flight: "1" }), /class="now"/);
  });
});

describe("renderBudgetsNow()", () => {
  it("shows the budgets with those that refuse calls, and nothing without budgets", () => {
    const now = (...budgets: BudgetLine[]) =>
      `${renderBudgetsNow(lines(budgets), clock as never, "/limits")}`;
    assert.equal(now(), '<div id="budgets" data-live></div>');
    const shown = now(line({ status: "exceeded", spent: "100", used_percent: 100 }));
    assert.match(shown, /<a href="\/limits">All budgets<\/a>/);
    assert.match(shown, /used up, refuses calls[\s\S]*meter budget lift day --for 1h/);
  });
});
