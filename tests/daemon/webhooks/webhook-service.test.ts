import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import type { LimitEvent } from "../../../core/metering/limits/limit-events.ts";
import type { ConfiguredWebhook } from "../../../core/operations/config/config.ts";
import type { CloudClient, CloudClientResult, CloudRequest } from "../../../core/ports/cloud-client.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { MAX_QUEUED_EVENTS } from "../../../daemon/webhooks/event-queue.ts";
import type { WebhookPorts } from "../../../daemon/webhooks/webhook-ports.ts";
import { createWebhookService } from "../../../daemon/webhooks/webhook-service.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const webhook: ConfiguredWebhook = {
  url: "https://hooks.test/path?token=secret",
  events: ["record.stored", "limit.warning"],
  secretHex: "ab".repeat(24),
  preset: "standard",
};
const answer = (status: number): CloudClientResult => ({
  kind: "http",
  status,
  retryAfterMs: null,
  etag: null,
  body: new Uint8Array(),
});
const warning = (account: string): LimitEvent => ({
  name: "limit.warning",
  level: "critical",
  isEarly: false,
  reading: {
    provider: "anthropic",
    account,
    window: "5h",
    scope: null,
    unit: "share",
    windowMs: 18_000_000,
    usedPpm: 960_000,
    limit: null,
    remaining: null,
    resetAt: noon,
    status: "warning",
    seenAt: noon,
  },
});

function setUp(
  store: Store,
  given: { webhooks?: readonly ConfiguredWebhook[]; ports?: Partial<WebhookPorts> } = {},
) {
  const clock = createManualClock(noon);
  const sent: (CloudRequest & { json: { type: string; data: Record<string, never> } })[] = [];
  const logged: [string, unknown][] = [];
  const results: (CloudClientResult | "hang")[] = [];
  const client: CloudClient = {
    async send(request) {
      sent.push({ ...request, json: JSON.parse(request.body ?? "") });
      const result = results.shift() ?? answer(204);
      if (result !== "hang") return result;
      await request.cancelled;
      return { kind: "transport", reason: "aborted" };
    },
    close: async () => {},
  };
  const note = (event: string, fields: unknown) => void logged.push([event, fields]);
  const service = createWebhookService(
    {
      store,
      client,
      clock,
      log: { debug: note, info: note, warn: note, error: note },
      sha256,
      random: () => 1,
      createIdHash: () => (id) => `hash-${id}`,
      perProject: () => ({ private: false }),
      ...given.ports,
    },
    given.webhooks ?? [webhook],
  );
  const settle = async () => {
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  };
  return {
    clock,
    sent,
    logged,
    results,
    service,
    settle,
    async advance(ms: number) {
      clock.advance(ms);
      await settle();
    },
    ids: () =>
      sent.map(({ json }) =>
        ((json.data.records ?? []) as { request_id: string }[]).map((each) => each.request_id),
      ),
  };
}

describe("createWebhookService()", () => {
  it("sends records that are stored from now on, each once and in order, in messages of at most 100", () =>
    withStore(async (store) => {
      store.records.insert([sampleRecord()]);
      const { service, sent, ids, advance } = setUp(store);
      service.start();
      await advance(0);
      assert.equal(sent.length, 0);
      const records = Array.from({ length: 150 }, () => sampleRecord());
      store.records.insert(records);
      await advance(1_000);
      assert.deepEqual(
        ids().map((each) => each.length),
        [100, 50],
      );
      assert.deepEqual(
        ids().flat(),
        records.map(({ requestId }) => requestId),
      );
      assert.deepEqual([sent[0]?.method, sent[0]?.url, sent[0]?.bearer], ["POST", webhook.url, null]);
      assert.match(sent[0]?.headers?.["webhook-signature"] ?? "", /^v1,/);
      await advance(10_000);
      assert.equal(sent.length, 2);
      await service.stop();
    }));

  it("sends the fields of the preset, with hashed ids, and nothing of a local-only project or a log", () =>
    withStore(async (store) => {
      const { service, sent, advance } = setUp(store);
      service.start();
      await advance(0);
      const one = sampleRecord({ sessionId: "s1", sourceWorkdir: "/home/ann", gitBranch: "main" });
      store.records.insert([
        one,
        sampleRecord({ recordSource: "logs" }),
        ...Array.from({ length: 120 }, () => sampleRecord({ project: "private" })),
      ]);
      await advance(1_000);
      assert.equal(sent.length, 1);
      const [record, ...others] = (sent[0]?.json.data.records ?? []) as Record<string, unknown>[];
      assert.deepEqual(others, []);
      assert.partialDeepStrictEqual(record, {
        request_id: one.requestId,
        session_id: "hash-s1",
        prompt_hash: null,
        source_workdir: null,
        git_branch: null,
      });
      store.records.insert([sampleRecord({ project: "public" })]);
      await advance(1_000);
      assert.equal(sent.length, 2);
      await service.stop();
    }));

  it("sends a message again until it is delivered, even after a restart, and says so", () =>
    withStore(async (store) => {
      const first = setUp(store);
      first.service.start();
      await first.advance(0);
      store.records.insert([sampleRecord()]);
      first.results.push(answer(500), { kind: "transport", reason: "connection_refused" });
      await first.advance(1_000);
      assert.partialDeepStrictEqual(first.service.status(), [
        { host: "hooks.test", consecutiveFailures: 1, lastError: "HTTP 500", lastDeliveredAt: null },
      ]);
      assert.deepEqual(first.logged, [
        [
          "webhook.failed",
          { host: "hooks.test", error: "HTTP 500", consecutive_failures: 1, retry_in_ms: 1_000 },
        ],
      ]);
      store.records.insert([sampleRecord()]);
      await first.advance(1_000);
      assert.deepEqual([first.sent.length, first.service.status()[0]?.consecutiveFailures], [2, 2]);
      assert.equal(first.sent[1]?.body, first.sent[0]?.body, "the same message");
      await first.service.stop();

      const second = setUp(store);
      second.service.start();
      await second.advance(0);
      assert.equal(second.ids().flat().length, 2, "both records");
      assert.partialDeepStrictEqual(second.service.status()[0], {
        consecutiveFailures: 0,
        lastError: null,
        lastDeliveredAt: noon,
      });
      assert.deepEqual(
        second.logged.map(([event]) => event),
        ["webhook.recovered"],
      );
      await second.service.stop();
    }));

  it("sends fewer records at once after 413, and each record once", () =>
    withStore(async (store) => {
      const { service, ids, results, logged, advance } = setUp(store);
      service.start();
      await advance(0);
      const records = Array.from({ length: 60 }, () => sampleRecord());
      store.records.insert(records);
      results.push(answer(413), answer(413), answer(204), answer(503), answer(413));
      for (let round = 0; round < 12; round += 1) await advance(1_000);
      assert.deepEqual(
        ids().map((each) => each.length),
        [60, 30, 15, 18, 18, 9, 12, 15, 9],
      );
      const delivered = ids().filter((_, index) => ![0, 1, 3, 4].includes(index));
      assert.deepEqual(
        delivered.flat(),
        records.map(({ requestId }) => requestId),
      );
      assert.deepEqual(
        logged.map(([event]) => event),
        ["webhook.failed", "webhook.recovered"],
      );
      await service.stop();
    }));

  it("does not skip a record that is too large alone", () =>
    withStore(async (store) => {
      const { service, ids, results, advance } = setUp(store);
      service.start();
      await advance(0);
      const record = sampleRecord();
      store.records.insert([record]);
      results.push(answer(413));
      await advance(1_000);
      assert.deepEqual(service.status()[0]?.lastError, "HTTP 413");
      await advance(1_000);
      assert.deepEqual(ids(), [[record.requestId], [record.requestId]]);
      await service.stop();
    }));

  it("sends nothing after 410 until the next start, and then what was stored meanwhile", () =>
    withStore(async (store) => {
      const first = setUp(store);
      first.service.start();
      await first.advance(0);
      const records = [sampleRecord(), sampleRecord()];
      store.records.insert([records[0]!]);
      first.results.push(answer(410));
      await first.advance(1_000);
      store.records.insert([records[1]!]);
      await first.advance(600_000);
      assert.equal(first.sent.length, 1);
      assert.partialDeepStrictEqual(first.service.status()[0], { lastError: "HTTP 410", isGone: true });
      assert.deepEqual(first.logged, [["webhook.gone", { host: "hooks.test" }]]);
      await first.service.stop();

      const second = setUp(store);
      second.service.start();
      await second.advance(0);
      assert.deepEqual(
        second.ids().flat(),
        records.map(({ requestId }) => requestId),
      );
      assert.equal(second.service.status()[0]?.isGone, false);
      await second.service.stop();
    }));

  it("waits as Retry-After says after 429, even if that is longer than the backoff", () =>
    withStore(async (store) => {
      const { service, sent, results, advance } = setUp(store);
      service.start();
      await advance(0);
      store.records.insert([sampleRecord()]);
      results.push({ ...answer(429), retryAfterMs: 900_000 } as CloudClientResult);
      await advance(1_000);
      await advance(899_000);
      assert.equal(sent.length, 1);
      await advance(1_000);
      assert.equal(sent.length, 2);
      await service.stop();
    }));

  it("sends what is stored after all records were deleted", () =>
    withStore(async (store) => {
      const { service, ids, advance } = setUp(store);
      service.start();
      await advance(0);
      store.records.insert([sampleRecord(), sampleRecord(), sampleRecord()]);
      await advance(1_000);
      store.deletion.deleteSome(null);
      const record = sampleRecord();
      store.records.insert([record]);
      await advance(1_000);
      assert.deepEqual(ids()[1], [record.requestId]);
      await service.stop();
    }));

  it("sends the records of a database that replaced a damaged one", () =>
    withStore((damaged) =>
      withStore(async (fresh) => {
        const stores: [Store, ...Store[]] = [damaged];
        const store = {
          get records() {
            return stores[0].records;
          },
          get notes() {
            return stores[0].notes;
          },
          trouble: null,
        };
        const { service, ids, advance } = setUp(damaged, { ports: { store } });
        service.start();
        await advance(0);
        damaged.records.insert([sampleRecord(), sampleRecord()]);
        await advance(1_000);
        stores[0] = fresh;
        const record = sampleRecord();
        fresh.records.insert([record]);
        await advance(1_000);
        assert.deepEqual(ids()[1], [record.requestId]);
        await service.stop();
      }),
    ));

  it("doesn't send an event after everything was deleted, but those that come after", () =>
    withStore(async (store) => {
      const { service, sent, results, advance } = setUp(store);
      service.start();
      await advance(0);
      service.addLimitEvent(warning("before"));
      results.push(answer(500));
      await advance(1_000);
      store.deletion.finish(null, false);
      service.addLimitEvent(warning("after"));
      await advance(1_000);
      assert.deepEqual(
        sent.map(({ json }) => json.data.account),
        ["before", "after"],
      );
      await service.stop();
    }));

  it("sends what is stored after a deletion during a request", () =>
    withStore(async (store) => {
      const bodies: string[] = [];
      const client: CloudClient = {
        async send({ body }) {
          bodies.push(body ?? "");
          if (bodies.length === 2) {
            store.deletion.deleteSome(null);
            store.records.insert([sampleRecord({ model: "after" }), sampleRecord()]);
          }
          return answer(204);
        },
        close: async () => {},
      };
      const { service, advance } = setUp(store, { ports: { client } });
      service.start();
      await advance(0);
      for (let n = 0; n < 2; n += 1) {
        store.records.insert([sampleRecord(), sampleRecord()]);
        await advance(1_000);
      }
      assert.deepEqual(
        bodies.map((body) => body.includes('"after"')),
        [false, false, true],
      );
      await service.stop();
    }));

  it("reads many records that are not sent only once", () =>
    withStore(async (store) => {
      const reads: number[] = [];
      const read: Store["records"]["read"] = (range) => {
        reads.push(range.afterSeq);
        return store.records.read(range);
      };
      const records = { ...store.records, read };
      const { service, ids, advance } = setUp(store, { ports: { store: { ...store, records } } });
      service.start();
      await advance(0);
      store.records.insert(Array.from({ length: 2_500 }, () => sampleRecord({ recordSource: "logs" })));
      await advance(1_000);
      for (let turn = 0; turn < 3; turn += 1) await advance(1);
      reads.length = 0;
      await advance(1_000);
      assert.deepEqual(reads, [2_500]);
      const record = sampleRecord();
      store.records.insert([record]);
      await advance(1_000);
      assert.deepEqual(ids(), [[record.requestId]]);
      await service.stop();
    }));

  it("doesn't send again what was deleted in the meantime, or became local-only", () =>
    withStore(async (store) => {
      const local: Record<string, boolean> = {};
      const { service, ids, results, advance } = setUp(store, { ports: { perProject: () => local } });
      service.start();
      await advance(0);
      const records = ["deleted", "private", "public"].map((project) => sampleRecord({ project }));
      const [deleted, , kept] = records;
      store.records.insert(records);
      results.push(answer(500));
      await advance(1_000);
      store.deletion.deleteRequests([deleted?.requestId ?? ""]);
      local.private = false;
      await advance(1_000);
      assert.deepEqual(
        ids().map((each) => each.length),
        [3, 1],
      );
      assert.deepEqual(ids()[1], [kept?.requestId]);
      await service.stop();
    }));

  it("waits for a record whose caller is not known yet", () =>
    withStore(async (store) => {
      const { service, ids, advance } = setUp(store);
      service.start();
      await advance(0);
      const known = sampleRecord();
      const due = sampleRecord({ attributionDueAt: noon + 5_000 });
      store.records.insert([known, due, sampleRecord()]);
      await advance(1_000);
      assert.deepEqual(ids(), [[known.requestId]]);
      await advance(3_000);
      assert.equal(ids().length, 1);
      await advance(2_000);
      await advance(1_000);
      assert.deepEqual([ids().length, ids()[1]?.[0], ids()[1]?.length], [2, due.requestId, 2]);
      await service.stop();
    }));

  it("does not wait for a caller until a time of a clock that was ahead", () =>
    withStore(async (store) => {
      const { service, ids, advance } = setUp(store);
      service.start();
      await advance(0);
      const ahead = sampleRecord({ attributionDueAt: noon + 86_400_000 });
      store.records.insert([ahead, sampleRecord()]);
      await advance(1_000);
      assert.deepEqual([ids()[0]?.[0], ids()[0]?.length], [ahead.requestId, 2]);
      await service.stop();
    }));

  it("sends events of limits once, and only the chosen ones", () =>
    withStore(async (store) => {
      const other: ConfiguredWebhook = { ...webhook, url: "https://other.test/", events: ["limit.reset"] };
      const { service, sent, advance } = setUp(store, { webhooks: [webhook, other] });
      service.start();
      await advance(0);
      service.addLimitEvent(warning("a"));
      await advance(1_000);
      assert.deepEqual(
        sent.map(({ url, json }) => [url, json.type, json.data.used_percent, json.data.account]),
        [[webhook.url, "limit.warning", 96, "a"]],
      );
      await advance(60_000);
      assert.equal(sent.length, 1);
      await service.stop();
      const again = setUp(store, { webhooks: [webhook, other] });
      again.service.start();
      await again.advance(1_000);
      assert.deepEqual(again.sent, []);
      await again.service.stop();
    }));

  it("keeps a bounded number of events, and survives damaged notes", () =>
    withStore(async (store) => {
      store.notes.write("webhook_events", "{damaged");
      const { service } = setUp(store);
      for (let index = 0; index <= MAX_QUEUED_EVENTS; index += 1) service.addLimitEvent(warning(`${index}`));
      const kept = JSON.parse(store.notes.read("webhook_events") ?? "[]") as { data: { account: string } }[];
      assert.deepEqual([kept.length, kept.at(-1)?.data.account], [MAX_QUEUED_EVENTS, `${MAX_QUEUED_EVENTS}`]);
    }));

  it("sends an event after the notes were damaged, whatever was sent before", () =>
    withStore(async (store) => {
      const first = setUp(store);
      first.service.start();
      await first.advance(0);
      for (const account of ["a", "b", "c"]) first.service.addLimitEvent(warning(account));
      await first.advance(1_000);
      assert.equal(first.sent.length, 3);
      await first.service.stop();
      store.notes.write("webhook_events", "{damaged");
      const { service, sent, advance } = setUp(store);
      // The clock of `setUp()` starts again; a real one is later than before.
      await advance(60_000);
      service.start();
      service.addLimitEvent(warning("d"));
      await advance(1_000);
      assert.deepEqual(
        sent.map(({ json }) => json.data.account),
        ["d"],
      );
      await service.stop();
    }));

  it("continues after the store failed, and sends nothing while it is in trouble", () =>
    withStore(async (store) => {
      let trouble: StoreError | null = null;
      let fails = false;
      const records = {
        ...store.records,
        read(range: Parameters<typeof store.records.read>[0]) {
          if (fails) throw new StoreError("io", "disk");
          return store.records.read(range);
        },
      };
      const failing: WebhookPorts["store"] = {
        records,
        notes: store.notes,
        get trouble() {
          return trouble;
        },
      };
      const { service, sent, logged, advance } = setUp(store, { ports: { store: failing } });
      service.start();
      await advance(0);
      store.records.insert([sampleRecord()]);
      fails = true;
      await advance(1_000);
      assert.equal(logged[0]?.[0], "daemon.task_crashed");
      trouble = new StoreError("io", "disk");
      fails = false;
      await advance(1_000);
      assert.equal(sent.length, 0);
      trouble = null;
      await advance(1_000);
      assert.equal(sent.length, 1);
      await service.stop();
    }));

  it("ends a request in progress when it stops, and sends it again later", () =>
    withStore(async (store) => {
      const first = setUp(store);
      first.service.start();
      await first.advance(0);
      store.records.insert([sampleRecord()]);
      first.results.push("hang");
      await first.advance(1_000);
      await first.service.stop();
      assert.deepEqual([first.sent.length, first.logged], [1, []]);
      const second = setUp(store);
      second.service.start();
      await second.advance(0);
      assert.deepEqual(second.ids(), first.ids());
      await second.service.stop();
    }));
});
