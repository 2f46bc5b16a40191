import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { type LogEntry, NOT_STATED } from "../../../../core/metering/agent-logs/log-entry.ts";
import { billingOfEntry, providerOfEntry } from "../../../../core/metering/agent-logs/log-provider.ts";
import { logRecordId, toLogRecord } from "../../../../core/metering/agent-logs/log-record.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { isUuid } from "../../../../core/values/uuid.ts";

const prices = createPriceBook(loadBundledRates());

const sample: LogEntry = {
  ...NOT_STATED,
  agent: "claude",
  key: "msg_1",
  line: 7,
  scope: "call",
  at: Date.UTC(2026, 7, 1),
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  tokens: {
    promptTokens: 1_000,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    completionTokens: 100,
    thinkingTokens: null,
  },
  tokensComplete: true,
};

const toRecord = (given: Partial<LogEntry> = {}) =>
  toLogRecord(
    { ...sample, ...given },
    { project: "shop", attributionTier: "git_root", logFile: "/logs/a.jsonl", prices, sha256 },
  );

describe("logRecordId()", () => {
  it("is a UUID of version 8 that depends on agent and key only", () => {
    const id = logRecordId(sample, sha256);
    assert.ok(isUuid(id));
    assert.match(id, /^.{14}8.{4}[89ab]/);
    assert.equal(logRecordId({ ...sample, line: 9, at: 1 } as LogEntry, sha256), id);
    assert.notEqual(logRecordId({ ...sample, agent: "pi" }, sha256), id);
    assert.notEqual(logRecordId({ ...sample, key: "msg_2" }, sha256), id);
  });
});

describe("toLogRecord()", () => {
  it("states what the log states, and where it is", () => {
    const record = toRecord({
      session: "s",
      turn: "t",
      agentId: "a",
      agentKind: "review",
      clientVersion: "2.1",
      cwd: "/w/shop",
      branch: "main",
      commit: "c0ffee".padEnd(40, "0"),
      remote: "git@example.com:acme/shop.git",
      responseId: "msg_1",
      extras: { web_search_requests: 1 },
    });
    assert.equal(record.costPicoUsd, 3_000_000_000n + 1_500_000_000n + 10_000_000_000n);
    assert.deepEqual(
      [
        record.recordSource,
        record.logFile,
        record.logLine,
        record.client,
        record.project,
        record.attributionTier,
      ],
      ["logs", "/logs/a.jsonl", 7, "claude", "shop", "git_root"],
    );
    assert.deepEqual(
      [
        record.sessionId,
        record.sessionSource,
        record.turnId,
        record.agentId,
        record.agentKind,
        record.clientVersion,
      ],
      ["s", "stated", "t", "a", "review", "2.1"],
    );
    assert.deepEqual(
      [record.gitBranch, record.gitCommit, record.gitRemote, record.sourceWorkdir, record.providerResponseId],
      ["main", "c0ffee".padEnd(40, "0"), "example.com/acme/shop", "/w/shop", "msg_1"],
    );
    assert.deepEqual(record.usageExtras, { web_search_requests: 1 });
  });

  it("leaves out what is too long for a record, and a remote that is a folder", () => {
    const long = "x".repeat(300);
    const record = toRecord({
      session: long,
      turn: long,
      clientVersion: long,
      branch: long,
      model: long,
      remote: "/srv/shop.git",
    });
    assert.deepEqual(
      [
        record.sessionId,
        record.sessionSource,
        record.turnId,
        record.clientVersion,
        record.gitBranch,
        record.gitRemote,
      ],
      [null, null, null, null, null, null],
    );
    assert.equal(record.model.length, 256);
    assert.equal(toRecord().usageExtras, null);
  });

  it("accepts only ids and names that the wire format allows", () => {
    for (const hostile of ["a\nb", "\u001b[31m", "a b\u0000", "\u202eid", "", "../..", " "]) {
      const record = toRecord({
        ...{
          session: `s${hostile}\n`,
          turn: `t${hostile}\n`,
          agentId: `a${hostile}\n`,
          agentKind: `k${hostile}\n`,
        },
        ...{
          clientVersion: `v${hostile}`,
          branch: `${hostile}\n`,
          commit: `${hostile}0`,
          remote: `${hostile}\n`,
        },
      });
      const { sessionId, sessionSource, turnId, agentId, agentKind, clientVersion } = record;
      assert.deepEqual(
        [sessionId, sessionSource, turnId, agentId, agentKind, clientVersion],
        [null, null, null, null, null, null],
        JSON.stringify(hostile),
      );
      assert.deepEqual([record.gitBranch, record.gitCommit, record.gitRemote], [null, null, null]);
    }
    // No branch is checked out.
    assert.equal(toRecord({ branch: "HEAD" }).gitBranch, null);
    assert.equal(toRecord({ branch: "feature/zähler" }).gitBranch, "feature/zähler");
  });

  it("prices a sum of several calls below the context tier", () => {
    const tokens = { ...sample.tokens, promptTokens: 300_000 };
    const [ofCall, ofSession] = [toRecord({ tokens }), toRecord({ tokens, scope: "session" })];
    assert.equal(ofSession.costPicoUsd, 300_000n * 3_000_000n + 1_500_000_000n);
    assert.ok((ofCall.costPicoUsd as bigint) > (ofSession.costPicoUsd as bigint));
    assert.deepEqual(ofSession.usageExtras, { model_calls: 2 });
  });

  it("takes the agent's own figure only if no rate is known", () => {
    const cost = (given: Partial<LogEntry>) => {
      const { costPicoUsd, costSource, ratesSource } = toRecord(given);
      return [costPicoUsd, costSource, ratesSource];
    };
    assert.deepEqual(cost({ statedCostUsd: "9" }).slice(1), ["computed", "bundled"]);
    assert.deepEqual(cost({ statedCostUsd: "0.25", model: "unknown" }), [
      250_000_000_000n,
      "estimated",
      null,
    ]);
    assert.deepEqual(cost({ statedCostUsd: "1e30", model: "unknown" }), [null, "unpriced", null]);
    assert.deepEqual(cost({ model: "unknown" }), [null, "unpriced", null]);
  });
});

describe("providers and billing", () => {
  const of = (given: Partial<LogEntry>) => {
    const entry = { ...sample, ...given };
    return [providerOfEntry(entry), billingOfEntry(entry)];
  };

  it("have the meter's names", () => {
    assert.deepEqual(of({ provider: "openai-codex" }), ["codex", "plan"]);
    assert.deepEqual(of({ provider: "Google" }), ["gemini", "metered"]);
    assert.deepEqual(of({ provider: "amazon-bedrock" }), ["bedrock", "metered"]);
    assert.deepEqual(of({ provider: " " }), ["unknown", "unknown"]);
    assert.deepEqual(of({ provider: "x".repeat(100) })[0], "x".repeat(64));
  });

  it("are a plan if the log or the provider's name states one", () => {
    assert.deepEqual(of({ billing: "plan" }), ["anthropic", "plan"]);
    assert.deepEqual(of({}), ["anthropic", "unknown"]);
    assert.deepEqual(of({ provider: "zai-coding-plan" })[1], "plan");
    assert.deepEqual(of({ provider: "github-copilot" })[1], "plan");
    assert.deepEqual(of({ provider: "google", agent: "gemini" })[1], "unknown");
  });
});
