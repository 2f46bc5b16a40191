import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientReport } from "../../../../core/metering/client-reports/client-report.ts";
import { redactReport } from "../../../../core/metering/client-reports/redact-report.ts";
import { createRedact } from "../../../../core/privacy/redaction/redact.ts";
import { AT } from "./otlp.rig.ts";

const SECRET = `sk-ant-api03-${"a1B2".repeat(23)}AA`;

const REPORT: ClientReport = {
  ...{ key: "k", client: "claude", scope: "request", event: "api_request", at: AT, startedAt: null },
  ...{ session: "5e55", model: "claude-sonnet-5", providerRequestId: "req_1", responseId: "msg_1" },
  ...{ querySource: "main", statedCostPicoUsd: 1n },
  tokens: {
    ...{ promptTokens: 1, cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
    ...{ completionTokens: 2, thinkingTokens: null },
  },
};

const redact = createRedact();

describe("redactReport()", () => {
  it("returns a report without secrets as it is", () => {
    assert.equal(redactReport(REPORT, redact), REPORT);
  });

  it("removes each id and name that contains a secret, and only these", () => {
    for (const name of ["session", "providerRequestId", "responseId", "querySource"] as const)
      assert.deepEqual(
        redactReport({ ...REPORT, [name]: SECRET }, redact),
        { ...REPORT, [name]: null },
        name,
      );
    assert.deepEqual(redactReport({ ...REPORT, model: SECRET }, redact), { ...REPORT, model: "unknown" });
    const sparse = { ...REPORT, session: null, model: SECRET };
    assert.deepEqual(redactReport(sparse, redact), { ...sparse, model: "unknown" });
  });

  it("removes all of them if the search fails", () => {
    const { session, model, providerRequestId, responseId, querySource } = redactReport(REPORT, () => ({
      ok: false,
      reason: "rule_failed",
    }));
    assert.deepEqual(
      [session, model, providerRequestId, responseId, querySource],
      [null, "unknown", null, null, null],
    );
  });
});
