import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bookedCallOf } from "../../../core/budgets/booked-call.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { withStore } from "../../daemon/store/open-sample-store.rig.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";

const { tokens } = sampleRecord();
const NO_COUNTS = {
  ...{ promptTokens: null, cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
  ...{ completionTokens: null, thinkingTokens: null },
};
const FAILED = { errorClass: "server_error", httpStatus: 500 } as const;

/** What is booked of each record: the cost and the tokens, or nothing. */
const cases: readonly [
  name: string,
  record: Partial<RequestRecord>,
  booked: readonly [bigint | null, number | null] | null,
][] = [
  ["all of its tokens, the hour's among the cache's writes", {}, [1_234_567_890n, 2_180]],
  ["its thinking", { tokens: { ...tokens, thinkingTokens: 7 } }, [1_234_567_890n, 2_187]],
  ["unknown tokens", { tokens: NO_COUNTS }, [1_234_567_890n, null]],
  ["an unknown cost", { costPicoUsd: null }, [null, 2_180]],
  ["an unknown cost of unknown tokens", { costPicoUsd: null, tokens: NO_COUNTS }, [null, null]],
  ["nothing if it failed without counts", { ...FAILED, costPicoUsd: null, tokens: NO_COUNTS }, [0n, 0]],
  ["what it states although it failed", { ...FAILED, costPicoUsd: null }, [null, 2_180]],
  [
    "the cached tokens of a failed call",
    { ...FAILED, costPicoUsd: null, tokens: { ...NO_COUNTS, cacheReadTokens: 5 } },
    [0n, 5],
  ],
  ["no refused call", { blockedBy: "daily" }, null],
  ["no record of a log", { recordSource: "logs" }, null],
  ["a record of the wire", { recordSource: "wire" }, [1_234_567_890n, 2_180]],
];

describe("bookedCallOf()", () => {
  for (const [name, given, booked] of cases)
    it(`counts ${name}, as the store does`, () =>
      withStore((store) => {
        const record = sampleRecord(given);
        const call = bookedCallOf(record);
        assert.deepEqual(call && [call.costPicoUsd, call.tokens], booked);
        store.records.insert([record]);
        assert.deepEqual(call === null ? [] : [call], store.budgets.calls([record.requestId]));
      }));

  it("has the facts of the stored record, also where the billing mode follows from the provider", () =>
    withStore((store) => {
      const records = [
        sampleRecord({ gitBranch: "main", client: "cli", sessionId: "s", agentId: "a", project: "p" }),
        sampleRecord({ billingMode: null, provider: "codex", requestedAt: 1_750_000_000_000.4 }),
        sampleRecord({ billingMode: null, provider: "gemini" }),
        sampleRecord({ billingMode: null, provider: "anthropic", model: "unknown" }),
      ];
      store.records.insert(records);
      for (const record of records)
        assert.deepEqual(store.budgets.calls([record.requestId]), [bookedCallOf(record)]);
    }));
});
