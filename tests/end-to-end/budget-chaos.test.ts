import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isExact, runBudgetChaos } from "../chaos/chaos-budgets.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

describe("a daemon killed while budgets block", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  it("states exactly the sums of its records, and no call in flight", async (context) => {
    const result = await runBudgetChaos({ rounds: 6, seed: "budgets" }, (line) => context.diagnostic(line));
    assert.ok(isExact(result), JSON.stringify(result));
  });
});
