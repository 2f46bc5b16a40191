import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderMinutes, renderTop, type TopView } from "../../../../cli/commands/top/render-top.ts";
import { handleKey } from "../../../../cli/commands/top/show-top.ts";
import type { NowResponse, NowSession } from "../../../../daemon/api/now-routes.ts";
import type { LimitView } from "../../../../daemon/limits/limit-views.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

/** A local time, so that the test is independent of the zone. */
const at = new Date(2026, 7, 31, 9, 20).getTime();

const sums = {
  spent_pico_usd: "1200000000000",
  plan_usage_pico_usd: "0",
  unknown_billing_pico_usd: "0",
  requests: 1_234,
  cache_percent: 87,
};

const session = (id: number): NowSession => ({
  ...sums,
  session_id: `session-${id}`,
  project: "apollo",
  client: "claude",
  ended_at: new Date(at - 120_000).toISOString(),
});

const limit: LimitView = {
  id: 1,
  provider: "anthropic",
  account: null,
  window: "5h",
  scope: null,
  unit: "share",
  used_percent: 62,
  limit: null,
  remaining: null,
  resets_at: new Date(at + 7_200_000).toISOString(),
  status: null,
  level: "ok",
  seen_at: new Date(at).toISOString(),
  is_over: false,
  elapsed_percent: 60,
  burn_percent_per_hour: 10,
  full: "lasts",
  full_at: null,
};

const now: NowResponse = {
  today: sums,
  last_hour: { ...sums, spent_pico_usd: "0" },
  session: null,
  limits: [limit, { ...limit, window: "7d", is_over: true }],
  calls_in_flight: 9,
  detail: {
    calls: Array.from({ length: 9 }, (_, index) => ({
      provider: "anthropic",
      model: index === 0 ? null : "opus",
      client: null,
      running_ms: 1_234,
    })),
    minutes: [0, 1, 4, 8].map((cost) => ({ requests: 1, cost_pico_usd: `${cost}` })),
    sessions: Array.from({ length: 20 }, (_, index) => session(index + 1)),
  },
};

const view: TopView = { columns: 120, rows: 40, at, firstSession: 0, isPaused: false };

describe("renderTop()", () => {
  it("shows sums, minutes, calls, limits and sessions", () => {
    const lines = renderTop(now, view).split("\n");
    assert.equal(lines[0], "meter  09:20");
    assert.equal(lines[1], "today $1.20   last hour $0.00   1,234 calls today   cache 87%   9 in flight");
    assert.ok(lines.includes(" ▁▄█"));
    assert.ok(lines.some((line) => /^– +anthropic +– +1\.2 s$/.test(line)));
    assert.ok(lines.includes("1 more"));
    assert.ok(lines.some((line) => /^anthropic +5h +▓{6}░{4} +62 % +2 h \(11:20\) +lasts$/.test(line)));
    assert.ok(!lines.some((line) => line.includes("7d")));
    assert.ok(lines.some((line) => /^session-1 +apollo +claude +1,234 +87 % +\$1\.20 +2 min$/.test(line)));
    assert.equal(lines.at(-1), "p pauses   up and down move   q quits");
  });

  it("shows all sums and the latest minutes on a narrow terminal", () => {
    const lines = renderTop(now, { ...view, columns: 40 }).split("\n");
    assert.deepEqual(lines.slice(1, 4), [
      "today $1.20   last hour $0.00",
      "1,234 calls today   cache 87%",
      "9 in flight",
    ]);
    const two = renderMinutes(now, { columns: 2 });
    assert.equal(two, "last 2 minutes\n▄█");
  });

  it("fits the terminal's height, and begins at the chosen session", () => {
    const text = renderTop(now, { ...view, firstSession: 2 });
    assert.ok(text.split("\n").length <= view.rows);
    assert.ok(!text.includes("session-2 ") && text.includes("session-3 "));
  });

  it("says that it is paused, and has no keys in a snapshot", () => {
    assert.match(
      renderTop(now, { ...view, isPaused: true }),
      /^meter {2}09:20 {2}paused\n[\s\S]*p continues/,
    );
    assert.ok(!renderTop(now, { ...view, isPaused: null }).includes("q quits"));
  });

  it("leaves out parts without content", () => {
    const empty = {
      ...now,
      limits: [],
      calls_in_flight: 0,
      detail: { calls: [], minutes: [], sessions: [] },
    };
    assert.equal(renderTop(empty, view).split("\n\n").length, 3);
    assert.match(renderTop({ ...empty, detail: null }, view), /No sessions in the last 24 hours\./);
    assert.match(renderTop(null, view), /The daemon is not running\. Start it: meter start/);
  });
});

describe("renderMinutes()", () => {
  it("draws a bar for any cost above zero, and nothing without cost", () => {
    const minutes = (...costs: number[]) =>
      renderMinutes(
        {
          ...now,
          detail: {
            calls: [],
            sessions: [],
            minutes: costs.map((cost) => ({ requests: 1, cost_pico_usd: `${cost}` })),
          },
        },
        view,
      );
    assert.equal(minutes(1, 1_000_000), "last 60 minutes\n▁█");
    assert.equal(minutes(0, 0), "");
  });
});

describe("the keys of meter top", () => {
  it("pause, continue and move within the sessions", () => {
    const state: Parameters<typeof handleKey>[0] = { paused: null, latest: { now, at }, firstSession: 0 };
    handleKey(state, "p");
    assert.equal(state.paused, state.latest);
    handleKey(state, "p");
    assert.equal(state.paused, null);
    handleKey(state, "up");
    assert.equal(state.firstSession, 0);
    for (let times = 0; times < 30; times++) handleKey(state, "down");
    assert.equal(state.firstSession, 19);
    handleKey(state, "up");
    assert.equal(state.firstSession, 18);
    handleKey(state, "x");
    state.latest = { now: null, at };
    handleKey(state, "down");
    assert.equal(state.firstSession, 0);
  });
});

describe("meter top", () => {
  it("fails without a daemon if there is no terminal", async () => {
    const { home, remove } = createEmptyHome();
    const { code, stderr } = await runWords(home, ["top"]);
    assert.equal(code, 3);
    assert.match(stderr, /The daemon is not running\./);
    remove();
  });
});
