import assert from "node:assert/strict";
import { it } from "node:test";
import { publishRates } from "../../../cloud/store/rates.ts";
import { createRig } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const pull = (models: readonly string[], input: string) => ({
  published_at: "2026-11-20T00:00:00.000Z",
  unit: "usd_per_million_tokens" as const,
  rates: models.map((model) => ({
    provider: "openai",
    model,
    input,
    output: null,
    cache_read: null,
    cache_write: null,
  })),
});

describeOnOneEngine("publishRates()", (engine) => {
  // Planted: the day checked without the lock.
  it("accepts exactly one of several simultaneous publications of a day, completely", async () => {
    const rig = await createRig(engine);
    try {
      const now = rig.clock.now();
      const sets = Array.from({ length: 8 }, (_, set) =>
        pull(
          Array.from({ length: set + 1 }, (_, at) => `new-${set}-${at}`),
          `${set + 1}`,
        ),
      );
      const outcomes = await Promise.all(sets.map((set) => publishRates(rig.db, set, { now })));
      const [winner, ...others] = outcomes.filter(({ ok }) => ok);
      assert.ok(winner?.ok && others.length === 0, JSON.stringify(outcomes));
      for (const outcome of outcomes) {
        if (!outcome.ok) assert.match(outcome.problems[0]?.problem ?? "", /published rates already/);
      }
      const stored = await rig.db
        .selectFrom("pricing_rates")
        .select("rate")
        .where("source", "=", "auto")
        .execute();
      const names = stored.map(({ rate }) => (rate as { model: string }).model.split("-")[1]);
      assert.equal(stored.length, winner.rates);
      assert.equal(new Set(names).size, 1);
    } finally {
      await rig.close();
    }
  });
});
