import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FILLABLE_COLUMNS, REQUEST_COLUMNS } from "../../../cloud/store/request-columns.ts";
import { createRowConverter, fillNulls } from "../../../cloud/store/stored-request.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { readPublishedRate } from "../../../core/pricing/published-rates.ts";
import { toOutgoingRecord } from "../../../core/privacy/policy/outgoing-record.ts";
import { isClockSkewed } from "../../../core/privacy/policy/received-record.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { parseMetadataRecord } from "../../../core/wire/metadata-record.ts";
import { policyOf, sampleRecord } from "../../core/privacy/policy/sample-record.rig.ts";

const sender = { machineId: null, userId: "u1", receivedAt: Date.UTC(2026, 10, 21) };

/** A price book in which a model's fresh input costs this many USD per million tokens. */
function bookAt(input: string) {
  const rate = { provider: "acme", model: "m-1", input, output: "1", cache_read: null, cache_write: null };
  const read = readPublishedRate(rate, "auto", "2026-11-01");
  assert.ok(read.ok);
  return createPriceBook([read.row]);
}

function stored(fields: object, book: ReturnType<typeof bookAt>) {
  const parsed = parseMetadataRecord({
    request_id: "01900000-0000-7000-8000-000000000001",
    requested_at: "2026-11-21T10:00:00.000Z",
    provider: "acme",
    model: "m-1",
    ...fields,
  });
  assert.ok(parsed.ok);
  return createRowConverter(sender, book)(parsed.value);
}

const tokens = { prompt_tokens: 1_000_000, completion_tokens: 0 };

describe("createRowConverter()", () => {
  const book = bookAt("2");
  const oldest = {
    request_id: "01994B8E-7C00-7000-8000-000000000000",
    requested_at: "2026-11-21T10:00:00+02:00",
  };

  it("normalises the time to UTC and the id to lower case", () => {
    const { requested_at, request_id } = stored(oldest, book);
    assert.equal(requested_at, "2026-11-21T08:00:00.000Z");
    assert.equal(request_id, "01994b8e-7c00-7000-8000-000000000000");
  });

  it("sets null for each field that the sender did not send", () => {
    const row = stored(oldest, book);
    for (const column of FILLABLE_COLUMNS) assert.equal(row[column], null, column);
    for (const column of Object.keys(REQUEST_COLUMNS)) assert.ok(column in row, column);
  });

  it("throws for a time that no schema accepted", () => {
    const parsed = parseMetadataRecord({ ...oldest, provider: "acme", model: "m-1" });
    assert.ok(parsed.ok);
    assert.throws(
      () => createRowConverter(sender, book)({ ...parsed.value, requested_at: "soon" }),
      RangeError,
    );
  });

  // Planted: two columns of the table swapped.
  it("stores each field that a daemon sends with the preset full", () => {
    const count = fc.option(fc.nat());
    const cost = fc.option(fc.bigInt({ min: 0n, max: 10n ** 22n - 1n }));
    const change = fc.record({
      requestedAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      tokens: fc.record(
        {
          promptTokens: count,
          cacheReadTokens: count,
          cacheWriteTokens: count,
          cacheWrite1hTokens: count,
          completionTokens: count,
          thinkingTokens: count,
        },
        { noNullPrototype: true },
      ),
      costPicoUsd: cost,
      providerCostPicoUsd: cost,
      latencyMs: fc.nat(),
      ttfbMs: count,
      streaming: fc.boolean(),
      recordSource: fc.constantFrom("logs", null),
      retryable: fc.option(fc.boolean()),
      httpStatus: fc.option(fc.integer({ min: 100, max: 999 })),
    });
    fc.assert(
      fc.property(change, (changes) => {
        const local: RequestRecord = { ...sampleRecord, ...changes };
        const outgoing = toOutgoingRecord(local, policyOf("full"), { kind: "plain" }, () => "1d".repeat(16));
        assert.ok(outgoing.kind === "send");
        const row = stored(JSON.parse(JSON.stringify(outgoing.record)), book);
        const ownColumns = ["cost_pico_usd", "cost_source", "rates_source"];
        const sent = Object.fromEntries(
          Object.entries(row).filter(([name]) => name in REQUEST_COLUMNS && !ownColumns.includes(name)),
        );
        assert.deepEqual(sent, {
          request_id: local.requestId,
          requested_at: new Date(local.requestedAt).toISOString(),
          received_at: new Date(sender.receivedAt).toISOString(),
          clock_skewed: isClockSkewed(local.requestedAt, sender.receivedAt),
          machine_id: sender.machineId,
          user_id: sender.userId,
          provider: local.provider,
          model: local.model,
          requested_model: local.requestedModel,
          request_kind: local.requestKind,
          streaming: local.streaming,
          prompt_tokens: local.tokens.promptTokens,
          completion_tokens: local.tokens.completionTokens,
          cache_read_tokens: local.tokens.cacheReadTokens,
          cache_write_tokens: local.tokens.cacheWriteTokens,
          cache_write_1h_tokens: local.tokens.cacheWrite1hTokens,
          thinking_tokens: local.tokens.thinkingTokens,
          tokens_complete: local.tokensComplete,
          reported_cost_pico_usd: local.costPicoUsd?.toString() ?? null,
          reported_cost_source: local.costSource,
          billing_mode: local.billingMode,
          reported_rates_source: local.ratesSource,
          provider_cost_pico_usd: local.providerCostPicoUsd?.toString() ?? null,
          service_tier: local.serviceTier,
          usage_extras: local.usageExtras,
          latency_ms: local.recordSource === "logs" ? null : local.latencyMs,
          ttfb_ms: local.ttfbMs,
          http_status: local.httpStatus,
          error_class: local.errorClass,
          provider_error_code: local.providerErrorCode,
          retryable: local.retryable,
          blocked_by: local.blockedBy,
          project: local.project,
          attribution_tier: local.attributionTier,
          session_id: "1d".repeat(16),
          session_source: local.sessionSource,
          turn_id: "1d".repeat(16),
          agent_id: "1d".repeat(16),
          parent_agent_id: "1d".repeat(16),
          agent_kind: local.agentKind,
          client_version: local.clientVersion,
          git_branch: local.gitBranch,
          git_commit: local.gitCommit,
          git_remote: local.gitRemote,
          pull_request: local.pullRequest,
          record_source: local.recordSource,
          prompt_hash: local.promptHash,
          prompt_hash_kind: "plain",
          method: local.method,
          path: local.path,
          source_workdir: local.sourceWorkdir,
        });
      }),
    );
  });
});

describe("fillNulls()", () => {
  // Planted: priced again with the rates of the day on which the record was repeated.
  it("keeps a known cost, whatever the current rates are", () => {
    const first = stored(tokens, bookAt("2"));
    assert.equal(first.cost_pico_usd, "2000000000000");
    const dearer = bookAt("9");
    const filled = fillNulls(first, stored({ ...tokens, project: "web" }, dearer), dearer);
    assert.deepEqual([filled?.project, filled?.cost_pico_usd], ["web", "2000000000000"]);
  });

  it("prices an unpriced request with the current rates", () => {
    const first = stored({}, bookAt("2"));
    assert.equal(first.cost_pico_usd, null);
    const book = bookAt("9");
    assert.equal(fillNulls(first, stored(tokens, book), book)?.cost_pico_usd, "9000000000000");
  });

  it("returns null if the record adds nothing new", () => {
    const book = bookAt("2");
    assert.equal(fillNulls(stored(tokens, book), stored(tokens, book), book), null);
  });
});
