import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientReport } from "../../../core/metering/client-reports/client-report.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon } from "./sample-records.rig.ts";

const sample: ClientReport = {
  key: "k1",
  client: "claude",
  scope: "request",
  event: "claude_code.api_request",
  session: "s-1",
  at: noon,
  startedAt: null,
  model: "claude-sonnet-4-5",
  tokens: {
    promptTokens: 1,
    cacheReadTokens: 2,
    cacheWriteTokens: 3,
    cacheWrite1hTokens: null,
    completionTokens: 4,
    thinkingTokens: null,
  },
  statedCostPicoUsd: 9_223_372_036_854_775_807n,
  providerRequestId: "req_1",
  responseId: null,
  querySource: "repl_main_thread",
};

const all = { from: null, to: null };

describe("store.clientReports", () => {
  it("returns what was saved, once", () =>
    withStore(({ clientReports }) => {
      assert.equal(clientReports.last(), null);
      clientReports.save([sample]);
      clientReports.save([sample, { ...sample, key: "k2", at: noon - 1, statedCostPicoUsd: null }]);
      assert.deepEqual(clientReports.read(all), [
        { ...sample, key: "k2", at: noon - 1, statedCostPicoUsd: null },
        sample,
      ]);
      assert.deepEqual(clientReports.read({ from: noon, to: noon + 1 }), [sample]);
      assert.deepEqual(clientReports.read({ from: null, to: noon - 1 }), []);
      assert.deepEqual({ ...clientReports.last() }, { client: "claude", at: noon });
    }));

  it("replaces a running total by a later one, and keeps what that one does not state", () =>
    withStore(({ clientReports }) => {
      const total = (at: number, promptTokens: number, statedCostPicoUsd: bigint | null): ClientReport => ({
        ...sample,
        ...{ scope: "running_total", at, startedAt: noon - 9, statedCostPicoUsd },
        tokens: { ...sample.tokens, promptTokens },
      });
      clientReports.save([total(noon, 5, 7n)]);
      clientReports.save([total(noon + 2, 9, null)]);
      clientReports.save([total(noon + 1, 6, 8n)]);
      assert.deepEqual(clientReports.read(all), [total(noon + 2, 9, 7n)]);
    }));

  it("forgets with the records", () =>
    withStore(({ clientReports, deletion }) => {
      clientReports.save([sample, { ...sample, key: "k2", at: noon + 1 }]);
      deletion.finish(noon + 1, false);
      assert.deepEqual(
        clientReports.read(all).map(({ key }) => key),
        ["k2"],
      );
      deletion.finish(null, false);
      assert.deepEqual(clientReports.read(all), []);
    }));
});
