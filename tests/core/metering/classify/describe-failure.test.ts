import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeFailure } from "../../../../core/metering/classify/describe-failure.ts";
import type { RequestRecord, TokenCounts } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";

const counts = (prompt: number | null, completion: number | null): TokenCounts => ({
  promptTokens: prompt,
  cacheReadTokens: prompt === null ? null : 2_000,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: completion,
  thinkingTokens: null,
});

/** A stream that broke off when the provider had stated 2,100 input tokens and one output token. */
const cut = {
  errorClass: "network",
  retryable: true,
  httpStatus: 200,
  latencyMs: 12_340,
  tokens: counts(100, 1),
  tokensComplete: false,
} as const;
const aborted = { ...cut, retryable: false, client: "claude" } as const;
const noCounts = { tokens: counts(null, null), costPicoUsd: null, costSource: "unpriced" } as const;

const STATED =
  "By then the provider had stated 2,100 input tokens and 1 output token. The final counts had not arrived.";
const LOWER_BOUND = "The stored cost includes only these counts, and the provider may bill more.";

const table: readonly [name: string, record: Partial<RequestRecord>, text: string][] = [
  [
    "a client that hangs up in a stream",
    aborted,
    `The client (claude) closed the connection after 12.3 s, before the response was complete. ${STATED} ${LOWER_BOUND}`,
  ],
  [
    "a client that hangs up before the response",
    { ...aborted, ...noCounts, client: null, httpStatus: null },
    "The client closed the connection after 12.3 s, before the response began. No token counts had arrived, so the usage is unknown. No cost is stored.",
  ],
  [
    "a client that hangs up after the counts",
    { ...aborted, tokensComplete: true },
    "The client (claude) closed the connection after 12.3 s, when all token counts had arrived. The token counts are complete. The stored cost includes all of them.",
  ],
  [
    "a stream that the provider or the network cuts off",
    cut,
    `The provider or the network closed the connection after 12.3 s, before the response was complete. ${STATED} ${LOWER_BOUND}`,
  ],
  [
    "a cut stream without an output count",
    { ...cut, tokens: counts(100, null), costPicoUsd: null, costSource: "unpriced" },
    "The provider or the network closed the connection after 12.3 s, before the response was complete. By then the provider had stated 2,100 input tokens. The count of output tokens is unknown. No cost is stored.",
  ],
  [
    "a cut stream with an estimated output",
    { ...cut, tokens: counts(100, 812), costSource: "estimated", usageExtras: { estimated_output: 1 } },
    "The provider or the network closed the connection after 12.3 s, before the response was complete. By then the provider had stated 2,100 input tokens. Estimated from the text: 812 output tokens. The final counts had not arrived. The stored cost includes the estimate, and the provider may bill more.",
  ],
  [
    "a cut stream whose counts are all estimated",
    {
      ...cut,
      tokens: counts(100, 812),
      costSource: "estimated",
      usageExtras: { estimated_input: 1, estimated_output: 1 },
    },
    "The provider or the network closed the connection after 12.3 s, before the response was complete. Estimated from the text: 2,100 input tokens and 812 output tokens. The final counts had not arrived. The stored cost includes the estimate, and the provider may bill more.",
  ],
  [
    "a cut stream of a model without a price",
    { ...cut, costPicoUsd: null, costSource: "unpriced" },
    `The provider or the network closed the connection after 12.3 s, before the response was complete. ${STATED} No cost is stored, because the price is unknown.`,
  ],
  [
    "a cut stream with a stated cost",
    { ...cut, costSource: "provider" },
    `The provider or the network closed the connection after 12.3 s, before the response was complete. ${STATED} The stored cost is the one that the provider stated.`,
  ],
  [
    "a connection that fails",
    { ...cut, ...noCounts, httpStatus: null, latencyMs: 40 },
    "No response arrived: the connection to the provider failed or was closed after 40 ms. No token counts had arrived, so the usage is unknown. No cost is stored.",
  ],
  [
    "a connection that is not set up in time",
    { ...cut, ...noCounts, httpStatus: null, errorClass: "timeout", latencyMs: 30_000 },
    "The connection to the provider could not be set up in time. The call ended after 30.0 s. No token counts had arrived, so the usage is unknown. No cost is stored.",
  ],
  [
    "an error in a stream",
    { ...cut, errorClass: "server_error", providerErrorCode: "overloaded_error" },
    `The provider ended the response with an error after 12.3 s: server error (overloaded_error). ${STATED} ${LOWER_BOUND}`,
  ],
  [
    "a stream that the provider cancels",
    { ...aborted, providerErrorCode: "cancelled" },
    `The provider ended the response with an error after 12.3 s: request cancelled (cancelled). ${STATED} ${LOWER_BOUND}`,
  ],
  [
    "a timeout in a stream",
    { ...cut, errorClass: "timeout" },
    `The provider ended the response with an error after 12.3 s: timeout. ${STATED} ${LOWER_BOUND}`,
  ],
  [
    "a refusal",
    { ...cut, ...noCounts, httpStatus: 429, errorClass: "rate_limit", providerErrorCode: "rate_limit_error" },
    "The provider answered with HTTP 429 after 12.3 s: rate limit (rate_limit_error). It stated no token counts. No cost is stored.",
  ],
];

describe("describeFailure()", () => {
  for (const [name, record, text] of table)
    it(`describes ${name}`, () => assert.equal(describeFailure(sampleRecord(record)), text));

  it("leaves out how long a call took if that is unknown", () => {
    const refusal = { ...cut, ...noCounts, httpStatus: 429, errorClass: "rate_limit", latencyMs: 1 } as const;
    assert.equal(
      describeFailure({ ...sampleRecord(refusal), latencyMs: null }),
      "The provider answered with HTTP 429: rate limit. It stated no token counts. No cost is stored.",
    );
  });

  it("says nothing about a call that did not fail", () => {
    assert.equal(describeFailure(sampleRecord()), null);
    assert.equal(describeFailure(sampleRecord({ tokensComplete: false })), null);
  });
});
