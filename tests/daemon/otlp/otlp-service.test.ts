import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { loadOtlpEncoder } from "../../../adapters/otlp/encode-otlp.ts";
import type { ConfiguredOtlp } from "../../../core/operations/config/config.ts";
import type { CloudClientResult, CloudRequest } from "../../../core/ports/cloud-client.ts";
import { createOtlpService, type OtlpPorts } from "../../../daemon/otlp/otlp-service.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const otlp: ConfiguredOtlp = {
  endpoint: "https://otel.test/base/",
  signals: ["traces", "logs", "metrics"],
  headers: { "x-key": "secret" },
  preset: "standard",
};
const answer = (status: number): CloudClientResult => ({
  ...{ kind: "http", status, retryAfterMs: null, etag: null, body: new Uint8Array() },
});

type Attributes = { key: string; value: Record<string, unknown> }[];
interface Body {
  resourceSpans: { scopeSpans: { spans: { traceId: string; attributes: Attributes }[] }[] }[];
  resourceLogs: {
    scopeLogs: { logRecords: { eventName: string; traceId: string; attributes: Attributes }[] }[];
  }[];
  resourceMetrics: {
    scopeMetrics: {
      metrics: { name: string; sum?: { dataPoints: { asInt?: number; asDouble?: number }[] } }[];
    }[];
  }[];
}

function setUp(store: Store, given: Partial<OtlpPorts> = {}, config = otlp) {
  const clock = createManualClock(noon);
  const sent: (CloudRequest & { json: Body })[] = [];
  const results: CloudClientResult[] = [];
  let answerTo = (_request: CloudRequest & { json: Body }) => answer(200);
  const logged: [string, unknown][] = [];
  const note = (event: string, fields: unknown) => void logged.push([event, fields]);
  const service = createOtlpService(
    {
      ...{ store, clock, sha256, random: () => 1 },
      client: {
        async send(request) {
          const received = { ...request, json: JSON.parse(request.body ?? "") as Body };
          sent.push(received);
          return results.shift() ?? answerTo(received);
        },
        close: async () => {},
      },
      log: { debug: note, info: note, warn: note, error: note },
      createIdHash: () => (id) => `hash-${id}`,
      perProject: () => ({ private: false }),
      loadEncoder: () => loadOtlpEncoder("1.2.3"),
      ...given,
    },
    config,
  );
  return {
    ...{ service, sent, results, logged },
    answerWith: (given: typeof answerTo) => void (answerTo = given),
    paths: () => sent.map(({ url }) => url.slice(url.lastIndexOf("/") + 1)),
    async advance(ms: number) {
      clock.advance(ms);
      for (let turn = 0; turn < 100; turn++) await setImmediate();
    },
  };
}

const spansOf = ({ json }: { json: Body }) => json.resourceSpans[0]!.scopeSpans[0]!.spans;
/** The signal of a request, and how many calls it has. */
const sizeOf = (request: CloudRequest & { json: Body }): [signal: string, size: number] => {
  const signal = request.url.slice(request.url.lastIndexOf("/") + 1);
  const records = request.json.resourceLogs?.[0]?.scopeLogs[0]?.logRecords;
  return [signal, signal === "traces" ? spansOf(request).length : (records?.length ?? 1)];
};
const hexOf = ({ requestId }: { requestId: string }) => requestId.replaceAll("-", "");
const sumOf = ({ json }: { json: Body }, name: string) => {
  const metric = json.resourceMetrics[0]!.scopeMetrics[0]!.metrics.find((each) => each.name === name);
  return metric?.sum?.dataPoints.map(({ asInt, asDouble }) => asInt ?? asDouble);
};

describe("createOtlpService()", () => {
  it("sends spans, events and sums of the calls that are stored from now on, in order", () =>
    withStore(async (store) => {
      store.records.insert([sampleRecord()]);
      const { service, sent, paths, advance } = setUp(store);
      service.start();
      await advance(0);
      assert.equal(sent.length, 0);
      const records = [sampleRecord(), sampleRecord({ sessionId: "s1", gitBranch: "main" })];
      store.records.insert(records);
      await advance(1_000);
      assert.deepEqual(paths(), ["traces", "logs", "metrics"]);
      assert.equal(sent[0]!.url, "https://otel.test/base/v1/traces");
      assert.equal(sent[0]!.headers?.["x-key"], "secret");
      assert.deepEqual(
        spansOf(sent[0]!).map(({ traceId }) => traceId),
        records.map(hexOf),
      );
      const attributes = new Map(spansOf(sent[0]!)[1]!.attributes.map(({ key, value }) => [key, value]));
      assert.deepEqual(attributes.get("gen_ai.usage.input_tokens"), { intValue: 2_130 });
      assert.deepEqual(attributes.get("gen_ai.conversation.id"), { stringValue: "hash-s1" });
      assert.equal(attributes.has("vcs.ref.head.name"), false);
      const [event] = sent[1]!.json.resourceLogs[0]!.scopeLogs[0]!.logRecords;
      assert.deepEqual(
        [event?.eventName, event?.traceId],
        ["gen_ai.client.inference.operation.details", hexOf(records[0]!)],
      );
      assert.deepEqual(sumOf(sent[2]!, "gen_ai.client.inference.usage.input_tokens"), [4_260]);
      assert.deepEqual(sumOf(sent[2]!, "meter.cost.usd"), [2 * 0.00123456789]);
      assert.ok(!sent.some(({ body }) => /ab{4}|prompt_hash|\/home\/user/.test(body ?? "")));
      await service.stop();
    }));

  it("sends only what was not delivered again, later each time, without counting twice", () =>
    withStore(async (store) => {
      const { service, sent, paths, results, logged, advance } = setUp(store);
      service.start();
      await advance(0);
      store.records.insert([sampleRecord()]);
      results.push(answer(200), answer(503), { kind: "transport", reason: "timeout" });
      await advance(1_000);
      assert.deepEqual(paths(), ["traces", "logs"]);
      assert.equal(service.status().consecutiveFailures, 1);
      await advance(60_000);
      await advance(600_000);
      assert.deepEqual(paths(), ["traces", "logs", "logs", "logs", "metrics"]);
      assert.deepEqual(service.status().lastError, null);
      assert.deepEqual(
        logged.map(([name]) => name),
        ["otlp.failed", "otlp.failed", "otlp.recovered"],
      );
      assert.ok(!JSON.stringify(logged).includes("secret"));
      store.records.insert([sampleRecord()]);
      await advance(1_000);
      assert.deepEqual(sumOf(sent.at(-1)!, "gen_ai.client.inference.usage.output_tokens"), [100]);
      await service.stop();
    }));

  it("continues after a restart where it stopped, and skips what may not leave the machine", () =>
    withStore(async (store) => {
      const first = setUp(store);
      first.service.start();
      await first.advance(0);
      first.results.push(answer(500));
      const one = sampleRecord();
      store.records.insert([
        one,
        sampleRecord({ project: "private" }),
        sampleRecord({ recordSource: "logs" }),
      ]);
      await first.advance(1_000);
      await first.service.stop();
      const second = setUp(store);
      second.service.start();
      await second.advance(0);
      assert.deepEqual(
        spansOf(second.sent[0]!).map(({ traceId }) => traceId),
        [hexOf(one)],
      );
      await second.service.stop();
      const third = setUp(store);
      third.service.start();
      await third.advance(10_000);
      assert.equal(third.sent.length, 0);
      await third.service.stop();
    }));

  it("sends what is stored after all records were deleted, and not again what was deleted", () =>
    withStore(async (store) => {
      const { service, sent, paths, results, advance } = setUp(store);
      service.start();
      await advance(0);
      const records = [sampleRecord(), sampleRecord(), sampleRecord()];
      store.records.insert(records);
      results.push(answer(200), answer(503));
      await advance(1_000);
      store.deletion.deleteRequests([records[0]!.requestId]);
      await advance(60_000);
      assert.deepEqual(paths(), ["traces", "logs", "logs", "metrics"]);
      assert.equal(sent[2]!.json.resourceLogs[0]!.scopeLogs[0]!.logRecords.length, 2);
      assert.deepEqual(sumOf(sent[3]!, "gen_ai.client.inference.usage.output_tokens"), [150]);
      store.deletion.deleteSome(null);
      const record = sampleRecord();
      store.records.insert([record]);
      await advance(1_000);
      assert.deepEqual(
        spansOf(sent[4]!).map(({ traceId }) => traceId),
        [hexOf(record)],
      );
      await service.stop();
    }));

  it("sends a batch whose last call was deleted as another one, and none if all were", () =>
    withStore(async (store) => {
      const { service, sent, paths, results, advance } = setUp(store);
      service.start();
      await advance(0);
      const records = [sampleRecord(), sampleRecord()];
      store.records.insert(records);
      results.push(answer(200), answer(503), answer(503));
      await advance(1_000);
      store.deletion.deleteRequests([records[1]!.requestId]);
      await advance(60_000);
      assert.deepEqual(paths(), ["traces", "logs", "traces"]);
      assert.equal(spansOf(sent[2]!).length, 1);
      store.deletion.deleteSome(null);
      await advance(600_000);
      assert.equal(sent.length, 3);
      store.records.insert([sampleRecord()]);
      await advance(1_000);
      assert.deepEqual(sumOf(sent.at(-1)!, "gen_ai.client.inference.usage.output_tokens"), [150]);
      await service.stop();
    }));

  it("does not send a message again that the collector can't read, and continues", () =>
    withStore(async (store) => {
      const { service, paths, results, logged, advance } = setUp(store, {}, { ...otlp, signals: ["traces"] });
      service.start();
      await advance(0);
      results.push(answer(400));
      store.records.insert([sampleRecord()]);
      await advance(1_000);
      store.records.insert([sampleRecord()]);
      await advance(1_000);
      assert.deepEqual(paths(), ["traces", "traces"]);
      assert.equal(logged[0]?.[0], "otlp.rejected");
      await service.stop();
    }));

  it("halves a message that is too large until it fits, and delivers each call once", () =>
    withStore(async (store) => {
      const { service, sent, answerWith, advance } = setUp(store);
      const sizes: string[] = [];
      answerWith((request) => {
        const [signal, size] = sizeOf(request);
        const isTooLarge = signal !== "metrics" && size > 60;
        sizes.push(`${signal} ${size}${isTooLarge ? " too large" : ""}`);
        return answer(isTooLarge ? 413 : 200);
      });
      service.start();
      await advance(0);
      const records = Array.from({ length: 200 }, () => sampleRecord());
      store.records.insert(records);
      for (let round = 0; round < 12; round++) await advance(1_000);
      assert.deepEqual(
        sizes.filter((each) => each.startsWith("traces")),
        ["200 too large", "100 too large", "50", "55", "60", "35"].map((each) => `traces ${each}`),
      );
      const delivered = sent.filter((each) => sizeOf(each)[0] === "traces" && sizeOf(each)[1] <= 60);
      assert.deepEqual(
        delivered.flatMap(spansOf).map(({ traceId }) => traceId),
        records.map(hexOf),
      );
      assert.deepEqual(
        sizes.filter((each) => each.startsWith("metrics")),
        ["metrics 1"],
      );
      const { refused, consecutiveFailures } = service.status();
      assert.deepEqual([refused, consecutiveFailures], [{ traces: 0, logs: 0, metrics: 0 }, 0]);
      await service.stop();
    }));

  it("recovers once from a failure, also if the rest of the batch is sent in several messages", () =>
    withStore(async (store) => {
      const { service, results, answerWith, logged, advance } = setUp(
        store,
        {},
        { ...otlp, signals: ["traces"] },
      );
      answerWith((request) => answer(sizeOf(request)[1] > 4 ? 413 : 200));
      service.start();
      await advance(0);
      store.records.insert(Array.from({ length: 20 }, () => sampleRecord()));
      results.push(answer(503));
      await advance(1_000);
      assert.equal(service.status().consecutiveFailures, 1);
      for (let round = 0; round < 12; round++) await advance(1_000);
      assert.equal(service.status().consecutiveFailures, 0);
      assert.deepEqual(
        logged.map(([name]) => name),
        ["otlp.failed", "otlp.recovered"],
      );
      await service.stop();
    }));

  it("drops only a call that is too large alone, and counts it", () =>
    withStore(async (store) => {
      const { service, sent, answerWith, logged, advance } = setUp(
        store,
        {},
        { ...otlp, signals: ["traces"] },
      );
      const records = Array.from({ length: 7 }, () => sampleRecord());
      const large = hexOf(records[4]!);
      answerWith((request) => answer(request.body?.includes(large) ? 413 : 200));
      service.start();
      await advance(0);
      store.records.insert(records);
      for (let round = 0; round < 12; round++) await advance(1_000);
      const delivered = sent.filter(({ body }) => !body?.includes(large)).flatMap(spansOf);
      assert.deepEqual(
        delivered.map(({ traceId }) => traceId),
        records.map(hexOf).filter((each) => each !== large),
      );
      assert.deepEqual(logged, [
        ["otlp.rejected", { host: "otel.test", signal: "traces", http_status: 413, records: 1 }],
      ]);
      const { refused, lastRefusal } = service.status();
      assert.deepEqual([refused.traces, lastRefusal], [1, "HTTP 413"]);
      await service.stop();
    }));

  it("continues within a batch after an error, and does not send again what was delivered of it", () =>
    withStore(async (store) => {
      const { service, sent, results, advance } = setUp(store, {}, { ...otlp, signals: ["traces"] });
      service.start();
      await advance(0);
      const records = Array.from({ length: 4 }, () => sampleRecord());
      store.records.insert(records);
      results.push(answer(413), answer(200), answer(503));
      await advance(1_000);
      await advance(1_000);
      store.deletion.deleteRequests([records[2]!.requestId]);
      await advance(60_000);
      assert.deepEqual(
        sent.map((each) => spansOf(each).length),
        [4, 2, 2, 1],
      );
      assert.deepEqual(spansOf(sent[3]!)[0]!.traceId, hexOf(records[3]!));
      await service.stop();
    }));

  it("counts what the collector refused of a message that it accepted, and does not send it again", () =>
    withStore(async (store) => {
      const { service, sent, results, logged, advance } = setUp(store);
      service.start();
      await advance(0);
      store.records.insert([sampleRecord(), sampleRecord()]);
      const partly = (partialSuccess: object) => ({
        ...answer(200),
        body: new TextEncoder().encode(JSON.stringify({ partialSuccess })),
      });
      results.push(
        partly({ rejectedSpans: "1", errorMessage: "too old" }),
        partly({ rejectedLogRecords: 2 }),
        partly({ rejectedDataPoints: "0", errorMessage: "a warning" }),
      );
      await advance(1_000);
      await advance(60_000);
      assert.equal(sent.length, 3);
      const { refused, lastRefusal, consecutiveFailures } = service.status();
      assert.deepEqual(refused, { traces: 1, logs: 2, metrics: 0 });
      assert.deepEqual([lastRefusal, consecutiveFailures], ["partial success", 0]);
      assert.deepEqual(
        logged.map(([name]) => name),
        ["otlp.rejected", "otlp.rejected"],
      );
      await service.stop();
    }));

  it("names a missing package in its status, and loses nothing meanwhile", () =>
    withStore(async (store) => {
      let isInstalled = false;
      const loadEncoder = () =>
        isInstalled ? loadOtlpEncoder("1") : Promise.reject(new Error("needs x, which is not installed"));
      const { service, sent, advance } = setUp(store, { loadEncoder });
      service.start();
      await advance(0);
      store.records.insert([sampleRecord()]);
      await advance(1_000);
      assert.equal(service.status().lastError, "needs x, which is not installed");
      isInstalled = true;
      await advance(300_000);
      assert.equal(sent.length, 3);
      await service.stop();
    }));
});
