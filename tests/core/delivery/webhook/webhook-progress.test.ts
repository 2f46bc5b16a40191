import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { CloudResult } from "../../../../core/delivery/retry/cloud-result.ts";
import {
  afterAttempt,
  isGone,
  parseProgress,
  type WebhookProgress,
} from "../../../../core/delivery/webhook/webhook-progress.ts";

const progress: WebhookProgress = {
  recordSeq: 5,
  eventNumber: 2,
  consecutiveFailures: 0,
  lastError: null,
  lastDeliveredAt: null,
};
const http = (status: number, retryAfterMs: number | null = null): CloudResult => ({
  kind: "http",
  status,
  retryAfterMs,
});

describe("afterAttempt()", () => {
  it("advances at once after any 2xx", () => {
    for (const status of [200, 204, 299])
      assert.deepEqual(
        afterAttempt(
          { ...progress, consecutiveFailures: 3, lastError: "x" },
          { recordSeq: 9 },
          http(status),
          {
            now: 77,
            random: 1,
          },
        ),
        { progress: { ...progress, recordSeq: 9, lastDeliveredAt: 77 }, delayMs: 0 },
      );
  });

  it("skips nothing after any other answer, and waits longer each time", () => {
    const results: CloudResult[] = [
      http(199),
      http(301),
      http(410),
      http(500),
      { kind: "transport", reason: "timeout" },
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...results), { minLength: 1, maxLength: 20 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, random) => {
          let current = progress;
          for (const result of failures) {
            const outcome = afterAttempt(current, { recordSeq: 9 }, result, { now: 0, random });
            assert.ok(outcome.delayMs >= 1_000 && outcome.delayMs <= 300_000);
            current = outcome.progress;
          }
          assert.deepEqual(
            { ...current, lastError: null },
            { ...progress, consecutiveFailures: failures.length },
          );
        },
      ),
    );
    const { progress: failed, delayMs } = afterAttempt(progress, {}, http(503, 60_000), {
      now: 0,
      random: 0,
    });
    assert.deepEqual([failed.lastError, delayMs], ["HTTP 503", 60_000]);
  });
});

describe("isGone()", () => {
  it("is true for 410 alone", () => {
    assert.deepEqual(
      [200, 404, 410, 500].map((status) => isGone(http(status))),
      [false, false, true, false],
    );
    assert.equal(isGone({ kind: "transport", reason: "timeout" }), false);
  });
});

describe("parseProgress()", () => {
  it("reads what was stored, and nothing else", () => {
    const stored = { ...progress, consecutiveFailures: 2, lastError: "HTTP 500", lastDeliveredAt: 4 };
    assert.deepEqual(parseProgress(JSON.stringify(stored)), stored);
    assert.deepEqual(parseProgress('{"recordSeq":5,"eventNumber":2,"lastError":7}'), progress);
    for (const text of ["", "null", "7", "{}", '{"recordSeq":1.5,"eventNumber":0}', '{"recordSeq":"1"}'])
      assert.equal(parseProgress(text), null, text);
  });
});
