import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderBudget, renderBudgets } from "../../../../cli/commands/budget/render-budgets.ts";
import { saveFleetBudgets } from "../../../../daemon/budgets/fleet-budgets.ts";
import { cents } from "../../../core/budgets/budgets.rig.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

describe("meter budget, with budgets of a workspace", () => {
  it("lists and explains them, and names who can change one instead of changing it", async (context) => {
    const statement = {
      ...{ workspace: "Acme", address: "https://cloud.example/w/w1/budgets", at: Date.now() },
      budgets: [
        {
          ...{ name: "all", subject: "person", target: "ann", amount: "40 USD", period: "total", zone: null },
          ...{ thresholds: [50], at_limit: "block", reserve: false, fail: "open", paused: false },
          ...{ lifted_until: null, period_from: "1970-01-01T00:00:00.000Z" },
          ...{ here: "0", elsewhere: `${cents(1_000).costPicoUsd}` },
        },
      ],
    };
    const sample = await createSampleHome((store) => {
      const requestedAt = Date.now();
      const records = [cents(450), cents(1)].map(({ costPicoUsd }) =>
        sampleRecord({ requestedAt, costPicoUsd }),
      );
      store.insertBatch({ records, bodies: [], coverage: [] });
      saveFleetBudgets(store.notes, statement);
    });
    context.after(() => sample.remove());
    const run = (...words: string[]) => runWords(sample.home, ["budget", ...words]);
    const { stdout } = await run("list");
    assert.match(stdout, /^workspace\/all +\S+ +36 % +\$14\.51 +\$40\.00 +total +– +ok$/m);
    assert.match(
      stdout,
      /^workspace\/all: set by workspace Acme; counts your calls on all your machines there\.$/m,
    );
    const { budgets } = JSON.parse((await run("list", "--json")).stdout);
    const render = (count: number, early: number) => {
      const [view] = budgets;
      const read = { budgets: [{ ...view, let_through: { caller: 2, records: 1 } }], let_through: count };
      return renderBudgets({ ...read, let_through_early: early, confirmed: true }, Date.now(), 80);
    };
    assert.match(
      render(3, 0),
      /^3 calls were sent since the daemon started because a budget could not decide\.$/m,
    );
    assert.match(render(4, 1), /could not decide, 1 call of them before the budgets were read\.$/m);
    assert.match(
      render(3, 0),
      /^workspace\/all: sent without a decision since the daemon started: 2 calls whose caller was not found within 5 ms, 1 call while its records could not be read\.$/m,
    );
    const [view] = budgets;
    const shownEarly = renderBudget({ ...view, let_through: { caller: 1 } }, [], Date.now(), 2);
    assert.match(
      shownEarly,
      /^note {7}sent without a decision since the daemon started: 1 call whose caller/m,
    );
    assert.match(
      shownEarly,
      /^note {7}2 calls were sent before any budget was read, when the daemon started\.$/m,
    );
    const shown = (await run("show", "workspace/all")).stdout;
    assert.match(shown, /^spent +\$14\.51 \(2 calls on this machine\)$/m);
    assert.match(shown, /^elsewhere +\$10\.00, as of /m);
    assert.match(shown, /^change at +https:\/\/cloud\.example\/w\/w1\/budgets$/m);
    for (const words of [
      ["lift", "workspace/all", "--for", "1h"],
      ["pause", "workspace/all"],
      ["resume", "workspace/all"],
      ["remove", "workspace/all"],
      ["set", "workspace/all", "900 USD"],
    ]) {
      const { code, stderr } = await run(...words);
      assert.equal(code, 1, words[0]);
      assert.match(
        stderr,
        /workspace\/all is set by the workspace Acme, so this machine can't change it\.\n.*An administrator of the workspace can: https:\/\/cloud\.example\/w\/w1\/budgets/,
      );
    }
  });
});
