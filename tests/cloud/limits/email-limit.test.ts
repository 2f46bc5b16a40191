import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createEmailLimit, MAX_EMAILS } from "../../../cloud/limits/email-limit.ts";
import { createMemoryStates } from "../../../cloud/limits/limit-states.ts";

const HOUR_MS = 3_600_000;

describe("createEmailLimit()", () => {
  it("allows ten emails to an address in any 24 hours, also over several processes", async () => {
    const shared = createMemoryStates();
    const processes = [createEmailLimit(shared), createEmailLimit(shared)] as const;
    for (let hour = 0; hour < MAX_EMAILS; hour += 1)
      assert.equal(await processes[hour % 2 === 0 ? 0 : 1].take("ann", hour * HOUR_MS), null);
    for (const limit of processes) assert.equal(await limit.take("ann", 10 * HOUR_MS), 14 * 3_600);
    assert.equal(await processes[0].take("ben", 10 * HOUR_MS), null);
    assert.equal(await processes[0].take("ann", 24 * HOUR_MS), null);
    assert.equal(await processes[1].take("ann", 24 * HOUR_MS), 3_600);
  });

  it("does not block for longer than a day after the clock was set back", async () => {
    const limit = createEmailLimit();
    for (let turn = 0; turn < MAX_EMAILS; turn += 1) await limit.take("ann", 60 * HOUR_MS);
    assert.equal(await limit.take("ann", 50 * HOUR_MS), 24 * 3_600);
    assert.equal(await limit.take("ann", 74 * HOUR_MS), null);
    assert.equal(await limit.take("ann", 0), null);
  });
});
