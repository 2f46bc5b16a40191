import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideSweep, SWEEP_INTERVAL_MS, sweepCutoff } from "../../../../core/privacy/retention/sweep.ts";

const now = Date.UTC(2026, 10, 21, 9);
const day = SWEEP_INTERVAL_MS;

describe("sweepCutoff()", () => {
  it("counts whole days back", () => {
    assert.equal(sweepCutoff(now, 90), Date.UTC(2026, 7, 23, 9));
  });
});

describe("decideSweep()", () => {
  const rows: [name: string, lastSweptAt: number | null, stored: number, due: number, verdict: string][] = [
    ["a day after the last one, however much is due", now - day, 10, 10, "sweep"],
    ["two days after the last one", now - 2 * day, 10, 10, "sweep"],
    ["later than that, half of what is stored", now - 2 * day - 1, 10, 5, "sweep"],
    ["later than that, more than half", now - 2 * day - 1, 10, 6, "hold"],
    ["a clock that went back, more than half", now + 2 * day + 1, 10, 6, "hold"],
    ["a clock that went back a little", now + 2 * day, 10, 6, "sweep"],
    ["the first one ever, more than half", null, 3, 2, "hold"],
    ["the first one ever, half", null, 2, 1, "sweep"],
    ["nothing stored", null, 0, 0, "sweep"],
  ];
  for (const [name, lastSweptAt, stored, due, verdict] of rows) {
    it(`returns ${verdict}: ${name}`, () => {
      assert.equal(decideSweep({ now, lastSweptAt, stored, due }), verdict);
    });
  }
});
