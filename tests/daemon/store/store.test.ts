import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { NO_TOKENS } from "../../../core/metering/usage/token-counts.ts";
import { StoreError, type StoreErrorReason } from "../../../core/ports/sqlite.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { MAX_CALLS_PER_SLOT } from "../../../daemon/store/coverage.ts";
import { migrate } from "../../../daemon/store/migrate.ts";
import { latestSchemaVersion } from "../../../daemon/store/migrations.ts";
import { openStore, PAUSED_DATABASE_REPLACED } from "../../../daemon/store/open-store.ts";
import { ATTRIBUTION_DUE_MS } from "../../../daemon/store/port/attribution-due.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import type { QuarantineEntry } from "../../../daemon/store/port/delivery.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const fails = (reason: StoreErrorReason) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error));
  assert.equal(error.reason, reason, error.message);
  return true;
};
const ever = { from: null, to: null };

async function stored(store: Store, requestId: string) {
  const found = await store.records.find(requestId);
  assert.equal(found.kind, "found");
  return found.kind === "found" ? found.request : assert.fail();
}

const everything: RequestRecord = sampleRecord({
  requestedAt: noon,
  costPicoUsd: 9_007_199_254_740_993n,
  providerCostPicoUsd: 9_223_372_036_854_775_807n,
  tokens: {
    promptTokens: 0,
    cacheReadTokens: 2 ** 40,
    cacheWriteTokens: 3,
    cacheWrite1hTokens: 2,
    completionTokens: 1,
    thinkingTokens: 7,
  },
  errorClass: "server_error",
  providerErrorCode: "overloaded_error",
  retryable: true,
  errorMessageHash: "cd".repeat(32),
  httpStatus: 529,
  model: "modèle 🌍",
});

const nothing: RequestRecord = sampleRecord({
  requestedModel: null,
  streaming: false,
  tokens: NO_TOKENS,
  tokensComplete: false,
  costPicoUsd: null,
  costSource: "unpriced",
  ratesSource: null,
  serviceTier: null,
  usageExtras: null,
  ttfbMs: null,
  httpStatus: null,
  retryable: false,
  promptHash: null,
  sourceWorkdir: null,
  providerResponseId: null,
  client: null,
});

describe("records.insert()", () => {
  for (const [text, record] of [
    ["every field filled", everything],
    ["every field empty that may be", nothing],
  ] as const) {
    it(`returns the record that was inserted: ${text}`, () =>
      withStore(async (store) => {
        store.records.insert([record]);
        assert.deepEqual(await stored(store, record.requestId), {
          ...record,
          seq: 1,
          syncedAt: null,
          syncSkippedAt: null,
          recomputedAt: null,
          reassignedAt: null,
          reassignedFrom: null,
        });
      }));
  }

  it("rounds times to milliseconds", () =>
    withStore(async (store) => {
      const record = sampleRecord({ requestedAt: noon + 0.4, latencyMs: 12.6, ttfbMs: 1.2 });
      store.records.insert([record]);
      const { requestedAt, latencyMs, ttfbMs } = await stored(store, record.requestId);
      assert.deepEqual({ requestedAt, latencyMs, ttfbMs }, { requestedAt: noon, latencyMs: 13, ttfbMs: 1 });
    }));

  it("does not change a stored record, so that a retry is safe", () =>
    withStore(async (store) => {
      const record = sampleRecord();
      store.records.insert([record, record]);
      store.records.insert([{ ...record, project: "other" }, sampleRecord()]);
      assert.equal(store.records.count(ever), 2);
      assert.equal((await stored(store, record.requestId)).project, record.project);
    }));

  const tokens = (promptTokens: number) => ({ ...everything.tokens, promptTokens });
  const refused: [text: string, given: Partial<RequestRecord>, reason: StoreErrorReason][] = [
    ["a cost beyond 64 bits", { costPicoUsd: 2n ** 63n }, "invalid_value"],
    ["a count beyond 2^40", { tokens: tokens(2 ** 40 + 1) }, "invalid_value"],
    ["a negative count", { tokens: tokens(-1) }, "invalid_value"],
    ["half a token", { tokens: tokens(0.5) }, "invalid_value"],
    ["NaN tokens", { tokens: tokens(Number.NaN) }, "invalid_value"],
    ["a time that is none", { requestedAt: Number.NaN, requestId: "a" }, "invalid_value"],
    ["a time beyond the year 9999", { requestedAt: Date.UTC(9999, 11, 31), requestId: "a" }, "invalid_value"],
    ["a time before 1970", { requestedAt: -1, requestId: "a" }, "invalid_value"],
    ["a latency that is none", { latencyMs: Number.NaN }, "constraint"],
    ["a broken status", { httpStatus: 200.5 }, "constraint"],
  ];
  for (const [text, given, reason] of refused) {
    it(`refuses ${text}, and the whole batch with it`, () =>
      withStore((store) => {
        assert.throws(() => store.records.insert([sampleRecord(), sampleRecord(given)]), fails(reason));
        assert.equal(store.records.count(ever), 0);
        store.records.insert([sampleRecord()]);
        assert.equal(store.records.count(ever), 1);
      }));
  }
});

describe("records.find()", () => {
  it("finds by complete ID, by unique prefix in any case, and by the provider's ID", () =>
    withStore(async (store) => {
      const one = sampleRecord({ requestId: "0197aaaa-0000-7000-8000-000000000001" });
      const two = sampleRecord({
        requestId: "0197aabb-0000-7000-8000-000000000002",
        providerResponseId: "0197",
      });
      store.records.insert([one, two]);
      for (const [text, id] of [
        [one.requestId, one.requestId],
        ["0197aaa", one.requestId],
        [" 0197AABB-0 ", two.requestId],
        [one.providerResponseId ?? "", one.requestId],
      ] as const) {
        assert.equal((await stored(store, text)).requestId, id);
      }
      assert.deepEqual(await store.records.find("0197"), {
        kind: "ambiguous",
        requestIds: [one.requestId, two.requestId],
      });
      for (const text of ["0198", "", "msg_none", "%", "'; DROP TABLE requests"]) {
        assert.deepEqual(await store.records.find(text), { kind: "not_found" });
      }
    }));

  it("lists ten of many", () =>
    withStore(async (store) => {
      store.records.insert(Array.from({ length: 15 }, () => sampleRecord()));
      const found = await store.records.find("0");
      assert.equal(found.kind === "ambiguous" && found.requestIds.length, 10);
    }));
});

describe("records.shortenIds()", () => {
  it("returns prefixes of one length that no other request has, also of requests that are not given", () =>
    withStore(async (store) => {
      const end = "-7000-8000-000000000000";
      const ids = ["019e1c00-0000", "019e1c00-00aa", "019e1d00-0000"].map((start) => `${start}${end}`);
      const [first = "", , last = ""] = ids;
      store.records.insert(ids.map((requestId) => sampleRecord({ requestId })));
      assert.deepEqual(store.records.shortenIds([first], 4), ["019e1c00-000"]);
      assert.deepEqual(store.records.shortenIds([last], 4), ["019e1d"]);
      assert.deepEqual(store.records.shortenIds([last, first], 4), ["019e1d00-000", "019e1c00-000"]);
      assert.deepEqual(store.records.shortenIds([last], 8), ["019e1d00"]);
      assert.deepEqual(store.records.shortenIds([], 8), []);
    }));
});

describe("records.findStoredResponse()", () => {
  it("finds only responses that their provider can return again, of any age", () =>
    withStore((store) => {
      const kept = sampleRecord({
        requestedAt: noon,
        providerResponseId: "resp_x",
        isResponseRefetchable: true,
      });
      const cut = sampleRecord({
        providerResponseId: "resp_y",
        isResponseRefetchable: true,
        tokensComplete: false,
      });
      store.records.insert([kept, cut, sampleRecord({ providerResponseId: "msg_x" })]);
      assert.deepEqual(store.records.findStoredResponse("resp_x"), {
        requestId: kept.requestId,
        tokensComplete: true,
      });
      assert.deepEqual(store.records.findStoredResponse("resp_y"), {
        requestId: cut.requestId,
        tokensComplete: false,
      });
      assert.equal(store.records.findStoredResponse("msg_x"), null);
    }));

  it("uses an index", () =>
    inNewFolder(async (folder) => {
      const connection = await opener.open(join(folder, "meter.db"));
      migrate(connection);
      const plan = connection
        .prepare<{ detail: string }>(
          "EXPLAIN QUERY PLAN SELECT request_id FROM requests WHERE provider_response_id = ? AND response_kept = 1",
        )
        .all(["resp_x"]);
      assert.match(plan.map(({ detail }) => detail).join("\n"), /USING INDEX requests_kept_response/);
      connection.close();
    }));
});

describe("records.insert() of a stored ID", () => {
  const first = sampleRecord({
    tokensComplete: false,
    costPicoUsd: null,
    costSource: "unpriced",
    httpStatus: 200,
  });
  const tokens = { ...first.tokens, promptTokens: 70, completionTokens: 7 };
  const second = { ...first, tokens, tokensComplete: true, costPicoUsd: 5n, costSource: "computed" as const };
  const storedAfter = async (...records: (typeof first)[]) => {
    let request: StoredRequest | undefined;
    await withStore(async (store) => {
      for (const record of records) store.records.insert([record]);
      request = await stored(store, first.requestId);
    });
    return request ?? assert.fail();
  };

  it("is told by insertBatch() before the record is completed", () =>
    withStore((store) => {
      const seen: (readonly [string, bigint | null | undefined])[] = [];
      const insert = (...records: (typeof first)[]) =>
        store.insertBatch({ records, bodies: [], coverage: [] }, (requestId) =>
          seen.push([requestId, store.budgets.calls([requestId])[0]?.costPicoUsd]),
        );
      insert(first);
      assert.deepEqual(seen, []);
      insert(sampleRecord(), second);
      insert(first);
      assert.deepEqual(seen, [
        [first.requestId, null],
        [first.requestId, 5n],
      ]);
    }));

  it("completes usage and cost, and keeps the other fields", async () => {
    const request = await storedAfter(first, { ...second, latencyMs: 1, project: "other" });
    assert.deepEqual(
      [request.tokens, request.tokensComplete, request.costPicoUsd, request.costSource],
      [tokens, true, 5n, "computed"],
    );
    assert.deepEqual([request.latencyMs, request.project], [first.latencyMs, first.project]);
  });

  it("keeps the model of a record that is completed without naming one", async () => {
    const request = await storedAfter({ ...first, model: "sora-2" }, { ...second, model: "unknown" });
    assert.deepEqual([request.model, request.tokensComplete], ["sora-2", true]);
    const named = await storedAfter({ ...first, model: "unknown" }, { ...second, model: "sora-2" });
    assert.equal(named.model, "sora-2");
  });

  it("makes only requests pending again that were sent incomplete, even before the cursor", () =>
    withStore((store) => {
      const [other, later] = [sampleRecord(), sampleRecord()];
      store.records.insert([other, first, later]);
      const all = [other, first, later].map(({ requestId }) => requestId);
      store.delivery.settle({ synced: all, skipped: [], quarantined: [], at: noon });
      assert.equal(store.delivery.countPending(), 0);
      store.records.insert([{ ...first, tokens }, other]);
      assert.equal(store.delivery.countPending(), 0, "what fills nothing in is not sent");
      store.records.insert([second]);
      assert.deepEqual(
        store.delivery.pendingProjects(10, 0).map(({ requestId }) => requestId),
        [first.requestId],
      );
      store.delivery.settle({ synced: [first.requestId], skipped: [], quarantined: [], at: noon });
      assert.equal(store.delivery.countPending(), 0);
    }));

  it("does not make a skipped request pending when it is completed", () =>
    withStore((store) => {
      store.records.insert([first]);
      store.delivery.settle({ synced: [], skipped: [first.requestId], quarantined: [], at: noon });
      store.records.insert([second]);
      assert.equal(store.delivery.countPending(), 0);
    }));

  it("does not change a complete record", async () => {
    const request = await storedAfter(second, { ...second, tokens: first.tokens, costPicoUsd: 9n });
    assert.deepEqual([request.tokens, request.costPicoUsd], [tokens, 5n]);
  });

  it("does not replace an incomplete record with another incomplete one", async () => {
    const request = await storedAfter(first, { ...first, tokens, costPicoUsd: 9n });
    assert.deepEqual([request.tokens, request.costPicoUsd], [first.tokens, null]);
  });
});

describe("recomputing", () => {
  it("reads in the order of arrival within the period, and stamps changed requests", () =>
    withStore(async (store) => {
      const records = [5, 3, 9, 1, 7].map((n) => sampleRecord({ requestedAt: noon + n }));
      store.records.insert(records);
      const period = { from: noon + 3, to: noon + 9 };
      const seen: number[] = [];
      let afterSeq = 0;
      for (;;) {
        const batch = store.records.read({ ...period, afterSeq, limit: 2 });
        if (batch.length === 0) break;
        afterSeq = batch.at(-1)?.seq ?? 0;
        seen.push(...batch.map(({ requestedAt }) => requestedAt - noon));
      }
      assert.deepEqual(seen, [5, 3, 7]);
      assert.equal(store.records.count(period), 3);
      const [first, second] = records as [RequestRecord, RequestRecord];
      const found = store.records.updateCosts(
        [
          {
            requestId: first.requestId,
            costPicoUsd: 2n ** 60n,
            costSource: "computed",
            ratesSource: "operator",
          },
          { requestId: second.requestId, costPicoUsd: null, costSource: "unpriced", ratesSource: null },
          { requestId: "none", costPicoUsd: 1n, costSource: "computed", ratesSource: null },
        ],
        noon,
      );
      assert.equal(found, 2);
      const changed = await stored(store, first.requestId);
      assert.equal(changed.costPicoUsd, 2n ** 60n);
      assert.equal(changed.ratesSource, "operator");
      assert.equal(changed.recomputedAt, noon);
      assert.equal((await stored(store, second.requestId)).costPicoUsd, null);
      assert.equal((await stored(store, (records[2] as RequestRecord).requestId)).recomputedAt, null);
    }));

  it("changes nothing if one update is refused", () =>
    withStore(async (store) => {
      const record = sampleRecord();
      store.records.insert([record]);
      const update = { requestId: record.requestId, costSource: "computed", ratesSource: null } as const;
      assert.throws(
        () =>
          store.records.updateCosts(
            [
              { ...update, costPicoUsd: 1n },
              { ...update, costPicoUsd: 2n ** 64n },
            ],
            noon,
          ),
        fails("invalid_value"),
      );
      assert.equal((await stored(store, record.requestId)).costPicoUsd, record.costPicoUsd);
    }));
});

describe("bodies", () => {
  const body = (given: Partial<CapturedBody> = {}): CapturedBody => ({
    requestId: "r1",
    direction: "request",
    capturedAt: noon,
    contentType: "application/json",
    content: new TextEncoder().encode('{"a":"\0 ü"}'),
    originalSizeBytes: 4_000,
    truncated: true,
    redactionApplied: true,
    redactionSummary: ["jwt", "pem"],
    ...given,
  });

  it("are read back byte for byte, in both directions, including U+0000", () =>
    withStore((store) => {
      const request = body();
      const response = body({
        direction: "response",
        contentType: null,
        redactionSummary: [],
        truncated: false,
      });
      store.bodies.insert([response, request]);
      const found = store.bodies
        .read("r1")
        .map((body) => ({ ...body, content: new Uint8Array(body.content) }));
      assert.deepEqual(found, [
        { ...request, uploadedAt: null },
        { ...response, uploadedAt: null },
      ]);
      assert.deepEqual(store.bodies.read("r2"), []);
    }));

  it("are replaced by a second capture of the same body", () =>
    withStore((store) => {
      store.bodies.insert([body()]);
      store.bodyDelivery.markUploaded({ requestId: "r1", direction: "request", capturedAt: noon }, 5);
      assert.equal(store.bodies.read("r1")[0]?.uploadedAt, 5);
      store.bodies.insert([body({ content: Uint8Array.of(65), capturedAt: noon + 1 })]);
      // The earlier connection was in flight meanwhile.
      store.bodyDelivery.markUploaded({ requestId: "r1", direction: "request", capturedAt: noon }, 6);
      const [only, more] = store.bodies.read("r1");
      assert.equal(only?.uploadedAt, null, "pending again");
      assert.equal(more, undefined);
      assert.deepEqual(new Uint8Array(only?.content ?? []), Uint8Array.of(65));
      assert.equal(only?.capturedAt, noon + 1);
    }));

  it("are counted", () =>
    withStore((store) => {
      assert.deepEqual(store.bodies.stats(), {
        bodies: 0,
        requests: 0,
        sizeBytes: 0,
        truncated: 0,
        redacted: 0,
        pending: 0,
        oldestAt: null,
        newestAt: null,
      });
      store.bodies.insert([
        body({ content: new Uint8Array(10) }),
        body({ direction: "response", truncated: false, content: new Uint8Array(5), capturedAt: noon + 5 }),
        body({ requestId: "r2", redactionApplied: false, content: new Uint8Array(1) }),
      ]);
      assert.deepEqual(store.bodies.stats(), {
        bodies: 3,
        requests: 2,
        sizeBytes: 16,
        truncated: 2,
        redacted: 2,
        pending: 3,
        oldestAt: noon,
        newestAt: noon + 5,
      });
    }));

  it("are deleted before an instant, without a copy in any file", () =>
    inNewFolder(async (folder) => {
      const store = await openStore(opener, join(folder, "meter.db"));
      const canary = (n: number) => new TextEncoder().encode(`CANARY-${n}-`.repeat(3_000));
      store.bodies.insert(
        Array.from({ length: 250 }, (_, n) =>
          body({ requestId: `r${n}`, capturedAt: noon + n, content: canary(n) }),
        ),
      );
      assert.equal(store.bodies.countBefore(noon + 249), 249);
      assert.deepEqual(
        [1, 2, 3, 4].map(() => store.bodies.deleteSome(noon + 249)),
        [100, 100, 49, 0],
      );
      const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
      const left = new Set(files.flatMap((text) => text.match(/CANARY-\d+/g) ?? []));
      assert.deepEqual([...left], ["CANARY-249"]);
      assert.equal(store.bodies.read("r249").length, 1);
      store.close();
    }));
});

describe("coverage", () => {
  it("is summed by host, kind and quarter of an hour", () =>
    withStore((store) => {
      const quarter = 15 * 60_000;
      store.coverage.add([
        { at: noon, host: "api.openai.com", kind: "metered", count: 2 },
        { at: noon + 1, host: "api.openai.com", kind: "metered", count: 1 },
        { at: noon + quarter, host: "api.openai.com", kind: "free", count: 4 },
        { at: noon, host: null, kind: "tunnelled_not_provider", count: 5 },
      ]);
      store.coverage.add([{ at: noon + quarter - 1, host: "api.openai.com", kind: "metered", count: 10 }]);
      assert.deepEqual(store.coverage.read(ever), [
        { host: null, kind: "tunnelled_not_provider", count: 5 },
        { host: "api.openai.com", kind: "free", count: 4 },
        { host: "api.openai.com", kind: "metered", count: 13 },
      ]);
      assert.deepEqual(store.coverage.read({ from: noon + quarter, to: null }), [
        { host: "api.openai.com", kind: "free", count: 4 },
      ]);
      assert.equal(store.coverage.read({ from: null, to: noon }).length, 0);
    }));

  it("names the calls that were counted, and what has no name", () =>
    withStore((store) => {
      const quarter = 900_000;
      const host = "api.anthropic.com";
      const list = { method: "GET", path: "/v1/servers" };
      store.coverage.add([
        { at: noon, host, kind: "unknown_path", count: 2, call: list },
        { at: noon, host, kind: "metered", count: 7 },
      ]);
      store.coverage.add([
        { at: noon + quarter, host, kind: "unknown_path", count: 1, call: list },
        { at: noon + quarter, host, kind: "unknown_path", count: 4 },
        { at: noon, host: "api.openai.com", kind: "websocket", count: 1 },
      ]);
      const gap = { host, kind: "unknown_path", lastSeenAt: noon + quarter };
      const other = { host: "api.openai.com", kind: "websocket", call: null, count: 1, lastSeenAt: noon };
      assert.deepEqual(store.coverage.readGaps(["unknown_path", "websocket"], ever), [
        { ...gap, call: null, count: 4 },
        { ...gap, call: list, count: 3 },
        other,
      ]);
      assert.deepEqual(store.coverage.readGaps(["websocket"], { from: null, to: noon + 1 }), [other]);
      store.deletion.finish(noon + quarter, false);
      assert.equal(store.coverage.readGaps(["unknown_path"], ever)[1]?.count, 1);
    }));

  it("stores a bounded number of different calls per quarter of an hour, and counts all", () =>
    withStore((store) => {
      const calls = Array.from({ length: MAX_CALLS_PER_SLOT + 5 }, (_, index) => ({
        ...{ at: noon, host: "api.openai.com", kind: "unknown_path" as const, count: 1 },
        call: { method: "GET", path: `/${index}` },
      }));
      store.coverage.add(calls);
      store.coverage.add(calls.slice(0, 1));
      const gaps = store.coverage.readGaps(["unknown_path"], ever);
      assert.equal(gaps.length, MAX_CALLS_PER_SLOT + 1);
      assert.deepEqual(
        gaps.filter(({ call }) => call === null).map(({ count }) => count),
        [5],
      );
      assert.equal(
        gaps.reduce((sum, { count }) => sum + count, 0),
        MAX_CALLS_PER_SLOT + 6,
      );
    }));
});

describe("settings", () => {
  it("store body capture per project as on, off or unset", () =>
    withStore((store) => {
      assert.deepEqual(store.settings.listProjects(), []);
      store.settings.setBodyCapture("a", true, noon);
      store.settings.setBodyCapture("b", false, noon);
      assert.deepEqual(store.settings.listProjects()[0], { project: "a", bodyCapture: true });
      store.settings.setBodyCapture("a", null, noon);
      assert.deepEqual(store.settings.listProjects(), [
        { project: "a", bodyCapture: null },
        { project: "b", bodyCapture: false },
      ]);
    }));

  it("store notes", () =>
    withStore((store) => {
      assert.equal(store.notes.read("k"), null);
      store.notes.write("k", "1");
      store.notes.write("k", "2");
      assert.equal(store.notes.read("k"), "2");
      store.notes.write("k", null);
      assert.equal(store.notes.read("k"), null);
    }));

  it("replace the rates of one source, or none", () =>
    withStore((store) => {
      const row = (source: RateRow["source"], model: string): RateRow => ({
        provider: "openai",
        model,
        source,
        match: null,
        effectiveFrom: null,
        effectiveTo: null,
        daily: null,
        provenanceDate: "2026-05-01",
        rates: { ...NO_RATES, input: 1_250_000 },
      });
      store.rates.replace("auto", [row("auto", "a"), row("auto", "b")], noon);
      store.rates.replace("operator", [row("operator", "c")], noon);
      store.rates.replace("auto", [row("auto", "d")], noon);
      assert.deepEqual(store.rates.read(), [row("operator", "c"), row("auto", "d")]);
      assert.throws(
        () => store.rates.replace("auto", [row("auto", "e"), row("operator", "f")], noon),
        RangeError,
      );
      assert.equal(store.rates.read().length, 2);
    }));

  // Planted: the daemon could neither start nor pull other rates.
  it("skip a stored rate that can't be parsed", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      const connection = await opener.open(path);
      connection.execute(
        `INSERT INTO pricing_rates (source, provider, model, provenance_date, stored_at, rate_row)
         VALUES ('auto', 'openai', 'a', '2026-05-01', 0, '{"provider":"openai","mod')`,
      );
      connection.close();
      assert.deepEqual(store.rates.read(), []);
      store.close();
    }));
});

describe("the state of the sync", () => {
  const entry = (requestId: string): QuarantineEntry => ({
    kind: "metadata",
    requestId,
    direction: null,
    reason: "invalid_model",
    httpStatus: 422,
    quarantinedAt: noon,
  });
  const pending = (store: Store, limit = 10) =>
    store.delivery
      .requestsById(store.delivery.pendingProjects(limit, 0).map(({ requestId }) => requestId))
      .map(({ seq }) => seq);
  const cursor = (store: Store) => store.delivery.readState("cloud_sync_state").cursor_seq;

  it("is empty at first and stores changes", () =>
    withStore((store) => {
      assert.deepEqual(store.delivery.readState("cloud_sync_state"), {
        paused_reason: null,
        consecutive_failures: 0,
        last_error: null,
        cursor_seq: 0,
        last_error_at: null,
        last_tick_at: null,
        settled_after_cursor: 0,
      });
      store.delivery.updateState("cloud_sync_state", { paused_reason: "paused_manual", last_error_at: noon });
      store.delivery.updateState("cloud_sync_state", {});
      const { paused_reason, last_error_at } = store.delivery.readState("cloud_sync_state");
      assert.deepEqual([paused_reason, last_error_at], ["paused_manual", noon]);
      store.delivery.updateState("cloud_state", { enabled: 1, api_key_mirror: Uint8Array.of(1, 2) });
      assert.equal(store.delivery.readState("cloud_state").enabled, 1);
      assert.equal(store.delivery.readState("cloud_body_sync_state").last_body_tick_at, null);
    }));

  it("holds back a request until its caller is known or it is due", () =>
    withStore((store) => {
      const due = noon + ATTRIBUTION_DUE_MS;
      const [first, second, third] = [due, due, undefined].map((attributionDueAt) =>
        sampleRecord({ project: "misc", ...(attributionDueAt !== undefined && { attributionDueAt }) }),
      ) as [RequestRecord, RequestRecord, RequestRecord];
      store.records.insert([first, second, third]);
      const sendable = (now: number) => store.delivery.pendingProjects(10, now).map(({ project }) => project);
      assert.deepEqual(sendable(noon), ["misc"]);
      // Requests that are held back are not skipped.
      store.delivery.settle({ synced: [third.requestId], skipped: [], quarantined: [], at: noon });
      assert.deepEqual([cursor(store), store.delivery.countPending()], [0, 2]);
      const git = {
        gitBranch: "main",
        gitCommit: "c0ffee",
        gitRemote: "github.com/acme/shop",
        pullRequest: 12,
      };
      const attributed = { ...first, project: "shop", attributionTier: "git_root", client: "claude", ...git };
      store.insertBatch({ records: [], bodies: [], coverage: [], attributed: [attributed] });
      assert.deepEqual(store.delivery.pendingProjects(10, noon), [
        { requestId: first.requestId, project: "shop" },
      ]);
      assert.partialDeepStrictEqual(store.delivery.requestsById([first.requestId])[0], {
        attributionTier: "git_root",
        client: "claude",
        ...git,
      });
      assert.deepEqual(sendable(due), ["shop"]);
      assert.deepEqual(sendable(due + 1), ["shop", "misc"]);
      // The clock went back by a day; nothing waits that long.
      assert.deepEqual(sendable(noon - 86_400_000), ["shop", "misc"]);
    }));

  it("keeps the project of a request that was sent or moved in the meantime", () =>
    withStore((store) => {
      const records = [1, 2].map(() => sampleRecord({ project: "misc", attributionDueAt: noon }));
      store.records.insert(records);
      const [sent, moved] = records as [RequestRecord, RequestRecord];
      store.delivery.settle({ synced: [sent.requestId], skipped: [], quarantined: [], at: noon });
      const period = { from: moved.requestedAt, to: moved.requestedAt + 1 };
      store.reassignments.move({ fromProject: "misc", toProject: "mine", period }, noon);
      const attributed = records.map((record) => ({ ...record, project: "shop" }));
      store.insertBatch({ records: [], bodies: [], coverage: [], attributed });
      assert.deepEqual(
        store.delivery.requestsById(records.map(({ requestId }) => requestId)).map(({ project }) => project),
        ["misc", "mine"],
      );
    }));

  it("returns pending requests in order, and moves the cursor past settled ones", () =>
    withStore((store) => {
      const records = Array.from({ length: 6 }, () => sampleRecord());
      store.records.insert(records);
      const id = (n: number) => (records[n - 1] as RequestRecord).requestId;
      assert.deepEqual(pending(store, 2), [1, 2]);
      assert.equal(store.delivery.countPending(), 6);
      store.delivery.settle({ synced: [id(1), id(3)], skipped: [], quarantined: [], at: noon });
      assert.deepEqual(pending(store), [2, 4, 5, 6]);
      assert.equal(cursor(store), 1);
      store.delivery.settle({ synced: [], skipped: [id(2)], quarantined: [entry(id(4))], at: noon });
      assert.deepEqual(pending(store), [5, 6]);
      assert.equal(cursor(store), 4);
      store.delivery.settle({ synced: [id(5), id(6)], skipped: [], quarantined: [], at: noon });
      assert.deepEqual([cursor(store), store.delivery.countPending()], [6, 0]);
      assert.deepEqual(store.quarantine.list(), [entry(id(4))]);
      store.delivery.settle({ synced: [id(1)], skipped: [], quarantined: [entry(id(4))], at: noon + 9 });
      assert.equal(store.records.read({ ...ever, afterSeq: 0, limit: 1 })[0]?.syncedAt, noon);
      assert.equal(store.quarantine.release("metadata", [id(4), id(5)]), 1);
      assert.deepEqual(pending(store), [4]);
      assert.deepEqual(store.quarantine.list(), []);
    }));
});

describe("openStore()", () => {
  it("serves readers while it writes, in other processes too", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      store.records.insert([sampleRecord()]);
      const reader = await openStore(opener, path, { readOnly: true });
      store.records.insert([sampleRecord()]);
      assert.equal((await reader.reports.read({ by: "total", ...ever }))[0]?.requests, 2);
      assert.equal(reader.records.count(ever), 2);
      assert.equal((await store.reports.read({ by: "total", ...ever }))[0]?.requests, 2);
      assert.throws(() => reader.records.insert([sampleRecord()]), fails("read_only"));
      assert.throws(() => reader.settings.setBodyCapture("a", true, noon), fails("read_only"));
      store.close();
      store.close();
      assert.equal(reader.records.count(ever), 2);
      reader.close();
      const alone = await openStore(opener, path, { readOnly: true });
      assert.equal(alone.records.count(ever), 2);
      alone.close();
    }));

  it("changes nothing if read-only: missing, older and corrupt files stay as they are", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      await assert.rejects(openStore(opener, path, { readOnly: true }), fails("missing"));
      assert.deepEqual(readdirSync(folder), []);
      const old = await opener.open(path);
      migrate(old, 5);
      old.close();
      await assert.rejects(openStore(opener, path, { readOnly: true }), fails("older_schema"));
      const garbage = join(folder, "garbage.db");
      writeFileSync(garbage, "garbage ".repeat(1_000));
      await assert.rejects(openStore(opener, garbage, { readOnly: true }), fails("corrupt"));
      assert.equal(readFileSync(garbage, "utf8"), "garbage ".repeat(1_000));
      assert.equal(existsSync(`${garbage}.corrupt`), false);
    }));

  it("moves a corrupt file aside completely, and continues with a new one", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const garbage = "garbage ".repeat(1_000);
      writeFileSync(path, garbage);
      const store = await openStore(opener, path);
      assert.equal(store.setAsidePath, `${path}.corrupt`);
      for (const table of ["cloud_state", "cloud_sync_state", "cloud_body_sync_state"] as const)
        assert.equal(store.delivery.readState(table).paused_reason, PAUSED_DATABASE_REPLACED);
      assert.equal(readFileSync(`${path}.corrupt`, "utf8"), garbage);
      store.records.insert([sampleRecord()]);
      store.close();
      const again = await openStore(opener, path);
      assert.equal(again.setAsidePath, null);
      assert.equal(again.records.count(ever), 1);
      again.close();
    }));

  it("checks every page only of a file that it did not write", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      store.records.insert(Array.from({ length: 500 }, () => sampleRecord()));
      store.close();
      const copy = join(folder, "restored.db");
      copyFileSync(path, copy);
      const whole = await openStore(opener, copy);
      assert.equal(whole.setAsidePath, null);
      assert.equal(whole.records.count(ever), 500);
      whole.close();
      // Damage in the middle: opening does not read that page.
      const bytes = readFileSync(path);
      const page = 4_096 * Math.floor(bytes.length / 4_096 / 2);
      bytes.fill(0x5a, page, page + 4_096);
      const damaged = join(folder, "damaged.db");
      writeFileSync(damaged, bytes);
      const fresh = await openStore(opener, damaged);
      assert.equal(fresh.setAsidePath, `${damaged}.corrupt`);
      assert.equal(fresh.records.count(ever), 0);
      fresh.close();
      writeFileSync(path, bytes);
      const trusted = await openStore(opener, path);
      assert.equal(trusted.setAsidePath, null);
      trusted.close();
    }));

  it("refuses a newer and a foreign database without changing it", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      (await openStore(opener, path)).close();
      const connection = await opener.open(path);
      connection.execute(`PRAGMA user_version = ${latestSchemaVersion + 1}`);
      connection.close();
      const before = readFileSync(path);
      await assert.rejects(openStore(opener, path), fails("newer_schema"));
      await assert.rejects(openStore(opener, path, { readOnly: true }), fails("newer_schema"));
      assert.deepEqual(readFileSync(path), before);
      const foreign = join(folder, "foreign.db");
      const other = await opener.open(foreign);
      other.execute("CREATE TABLE t (a)");
      other.close();
      await assert.rejects(openStore(opener, foreign), fails("not_a_store"));
      assert.equal(existsSync(`${foreign}.corrupt`), false);
    }));

  it("commits captures with synchronous=NORMAL and the state of the sync with FULL", () =>
    inNewFolder(async (folder) => {
      const levels: string[] = [];
      const watching = {
        ...opener,
        open: async (...[path, options]: Parameters<typeof opener.open>) => {
          const connection = await opener.open(path, options);
          const level = connection
            .prepare<{ synchronous: number }>("PRAGMA synchronous")
            .get([])?.synchronous;
          return {
            ...connection,
            transaction: <T>(work: () => T) => {
              levels.push(level === 2 ? "full" : level === 1 ? "normal" : String(level));
              return connection.transaction(work);
            },
          };
        },
      };
      const store = await openStore(watching, join(folder, "meter.db"));
      levels.length = 0;
      const record = sampleRecord();
      store.records.insert([record]);
      store.insertBatch({ records: [sampleRecord()], bodies: [], coverage: [] });
      store.delivery.settle({ synced: [record.requestId], skipped: [], quarantined: [], at: noon });
      store.quarantine.release("metadata", []);
      assert.deepEqual(levels, ["normal", "normal", "full", "full"]);
      store.close();
    }));
});
