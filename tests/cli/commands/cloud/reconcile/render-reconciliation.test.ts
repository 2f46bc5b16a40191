import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderReconciliation } from "../../../../../cli/commands/cloud/reconcile/render-reconciliation.ts";
import {
  type CloudDay,
  type DeliveredTotals,
  type LocalModelDay,
  reconcile,
} from "../../../../../core/pricing/reconcile/reconcile.ts";

const DOLLAR = 1_000_000_000_000n;

const delivered = (requests: number, reportedCostPicoUsd: bigint): DeliveredTotals => ({
  requests,
  promptTokens: requests * 1_000,
  cacheReadTokens: requests * 100,
  cacheWriteTokens: requests * 10,
  completionTokens: requests * 200,
  thinkingTokens: 0,
  reportedCostPicoUsd,
});

const local = (date: string, model: string, given: Partial<LocalModelDay> = {}): LocalModelDay => ({
  date,
  provider: "anthropic",
  model,
  delivered: delivered(2, 100n * DOLLAR),
  unpricedRequests: 0,
  changedRequests: 0,
  pendingRequests: 0,
  quarantinedRequests: 0,
  skippedRequests: 0,
  ...given,
});

const cloudDay = (
  date: string,
  requests: number,
  reportedPicoUsd: bigint,
  costPicoUsd: bigint,
  models: CloudDay["models"] = null,
): CloudDay => ({ date, ...delivered(requests, reportedPicoUsd), costPicoUsd, models });

const render = (ours: readonly LocalModelDay[], theirs: readonly CloudDay[], width = 120) =>
  renderReconciliation("2026-11-01", "2026-11-30", reconcile(ours, theirs), width);

const verdictOf = (text: string) => /^(?:GOOD|TOLERATED|INVESTIGATE).*$/m.exec(text)?.[0];

describe("renderReconciliation()", () => {
  const day = "2026-11-20";
  const boundary: [what: string, difference: bigint, verdict: RegExp][] = [
    ["nothing", 0n, /^GOOD: zero variance \(0 %\)\.$/],
    [
      "a pico-USD",
      1n,
      /^TOLERATED: .* less than 0\.5 %\. Variance of the cost: \+<0\.0001 % \(\+<\$0\.0001\)\.$/,
    ],
    ["a pico-USD less than half a percent", DOLLAR / 2n - 1n, /^TOLERATED: .*: \+0\.4999 % \(/],
    ["half a percent", DOLLAR / 2n, /^INVESTIGATE: .* 0\.5 % or more\. .*: \+0\.5000 % \(\+\$0\.50*\)\.$/],
    ["half a percent too little", -DOLLAR / 2n, /^INVESTIGATE: .*: -0\.5000 % \(-\$0\.50*\)\.$/],
    ["less than half a percent too little", 1n - DOLLAR / 2n, /^TOLERATED: /],
  ];
  for (const [what, difference, expected] of boundary) {
    it(`rates a difference of ${what}`, () => {
      const text = render([local(day, "m")], [cloudDay(day, 2, 100n * DOLLAR, 100n * DOLLAR + difference)]);
      assert.match(verdictOf(text) ?? text, expected);
    });
  }

  it("shows the variance by day and model, with its causes", () => {
    const text = render(
      [
        local("2026-11-18", "agrees"),
        local("2026-11-19", "recomputed", { changedRequests: 1 }),
        local("2026-11-20", "waits", { pendingRequests: 3, quarantinedRequests: 1, skippedRequests: 4 }),
      ],
      [
        cloudDay("2026-11-18", 2, 100n * DOLLAR, 100n * DOLLAR),
        cloudDay("2026-11-19", 2, 100n * DOLLAR, 102n * DOLLAR),
        cloudDay("2026-11-20", 2, 100n * DOLLAR, 100n * DOLLAR),
        cloudDay("2026-11-21", 1, DOLLAR, DOLLAR),
      ],
    );
    const lines = text.split("\n").map((line) => line.trimEnd());
    const row = (start: string) => lines.find((line) => line.startsWith(start));
    assert.equal(row("2026-11-18"), undefined, "a day that agrees is left out");
    assert.match(row("2026-11-19") ?? "", /\+\$2\.0+ +investigate +1 recomputed or reassigned after/);
    assert.match(row("  anthropic recomputed") ?? "", /^ {2}anthropic recomputed$/);
    assert.match(row("2026-11-20") ?? "", / 0 +good +3 pending, 1 in quarantine, 4 kept on this machine$/);
    assert.match(row("2026-11-21") ?? "", /\+\$1\.0+ +investigate +1 missing here$/);
    assert.match(
      verdictOf(text) ?? "",
      /^INVESTIGATE: the totals sent and the cloud's totals differ\. Variance of the cost: \+1\.0000 % \(/,
    );
    const free = render([], [cloudDay("2026-11-21", 1, DOLLAR, DOLLAR)]);
    assert.match(
      verdictOf(free) ?? "",
      /Variance of the cost: not defined, since the cost here is zero \(\+\$1/,
    );
  });

  it("lists the models of a day's difference, the largest first, if the cloud reports them", () => {
    const held = (model: string, reported: bigint, cost: bigint) => ({
      provider: "anthropic",
      model,
      ...delivered(2, reported),
      costPicoUsd: cost,
    });
    const text = render(
      [local(day, "small"), local(day, "large"), local(day, "same")],
      [
        cloudDay(day, 6, 300n * DOLLAR, 295n * DOLLAR, [
          held("small", 100n * DOLLAR, 101n * DOLLAR),
          held("large", 100n * DOLLAR, 94n * DOLLAR),
          held("same", 100n * DOLLAR, 100n * DOLLAR),
        ]),
      ],
    );
    const rows = text.split("\n").slice(text.split("\n").findIndex((line) => line.startsWith(day)));
    assert.match(rows[0] ?? "", /-\$5\.0+ +investigate +6 priced with other rates/);
    assert.match(rows[1] ?? "", /^ {2}anthropic large +-\$6\.0+/);
    assert.match(rows[2] ?? "", /^ {2}anthropic small +\+\$1\.0+/);
    assert.doesNotMatch(text, /anthropic same/);
  });

  it("marks a day with different contents to investigate, at any cost", () => {
    const [ours, theirs] = [local(day, "m"), cloudDay(day, 2, 100n * DOLLAR, 100n * DOLLAR)];
    const text = render([ours], [{ ...theirs, promptTokens: theirs.promptTokens + 1 }]);
    assert.match(text, /^2026-11-20 +0 +investigate +2 with different contents/m);
    assert.match(text, /^input, fresh +2,000 +2,001 +1$/m);
    assert.match(verdictOf(text) ?? "", /^INVESTIGATE: the totals sent/);
  });

  it("fits a narrow terminal", () => {
    const text = render(
      [local(day, "a-model-with-a-name-that-goes-on-and-on", { changedRequests: 12_345 })],
      [cloudDay(day, 2, 100n * DOLLAR, 107n * DOLLAR)],
      60,
    );
    const table = text.slice(text.indexOf("day, model")).split("\n");
    for (const line of table) assert.ok(line.length <= 60, line);
  });
});
