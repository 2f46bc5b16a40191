import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSeenResponses } from "../../../daemon/capture/seen-responses.ts";

const record = { requestId: "r", tokensComplete: true };
const id = (n: number) => `resp_${String(n).padStart(20, "0")}`;

describe("createSeenResponses()", () => {
  it("finds the latest responses without the store", () => {
    const memory = createSeenResponses(() => assert.fail(), 2);
    for (const n of [1, 2, 3, 4, 5]) memory.add(id(n), `r${n}`, true);
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((n) => memory.find(id(n), false)?.requestId ?? null),
      [null, null, "r3", "r4", "r5"],
    );
  });

  it("searches the store only for a refetch", () => {
    const asked: string[] = [];
    const memory = createSeenResponses((responseId) => {
      asked.push(responseId);
      return record;
    });
    assert.equal(memory.find(id(1), false), null);
    assert.equal(memory.find(id(2), true), record);
    assert.deepEqual(asked, [id(2)]);
  });

  it("reports whether the usage of a response was complete", () => {
    const memory = createSeenResponses(() => assert.fail());
    memory.add(id(1), "r1", false);
    assert.deepEqual(memory.find(id(1), true), { requestId: "r1", tokensComplete: false });
    memory.add(id(1), "r1", true);
    assert.deepEqual(memory.find(id(1), true), { requestId: "r1", tokensComplete: true });
  });

  it("ignores short IDs, which are not unique", () => {
    const memory = createSeenResponses(() => assert.fail());
    memory.add("chatcmpl-423", "r", true);
    assert.equal(memory.find("chatcmpl-423", true), null);
  });
});
