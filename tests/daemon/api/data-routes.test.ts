import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import type { ActiveBudget } from "../../../core/budgets/budget.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { type BudgetsState, initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import { parseBudget } from "../../../core/budgets/parse-budget.ts";
import {
  projectListSchema,
  requestExplanationSchema,
  requestItemSchema,
  requestListSchema,
  statisticsSchema,
} from "../../../core/wire/loopback-data.ts";
import type { ApiPorts } from "../../../daemon/api/api-ports.ts";
import type { StatusResponse } from "../../../daemon/api/daemon-status.ts";
import { HEARTBEAT_MS } from "../../../daemon/api/event-stream.ts";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";
import { type ApiRig, openApi } from "./api.rig.ts";

async function withApi(work: (rig: ApiRig) => Promise<void>, change: Parameters<typeof openApi>[0] = {}) {
  const rig = await openApi(change);
  try {
    await work(rig);
  } finally {
    rig.close();
  }
}

const codeOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

describe("GET /v1/status", () => {
  it("names the models without a price of the last 24 hours, with the fix of each", () =>
    withApi(async ({ store, ask, clock }) => {
      const unpriced = {
        costPicoUsd: null,
        costSource: "unpriced",
        requestedAt: clock.now() - 3_600_000,
      } as const;
      const acme = [1, 2].map(() => sampleRecord({ ...unpriced, provider: "acme", model: "m" }));
      const old = sampleRecord({
        ...unpriced,
        provider: "acme",
        model: "old",
        requestedAt: clock.now() - 86_400_001,
      });
      const unstated = { ...sampleRecord().tokens, promptTokens: null };
      store.insertBatch({
        records: [
          ...acme,
          old,
          sampleRecord({ ...unpriced, provider: "openai", model: "no-such-model" }),
          sampleRecord({ ...unpriced, provider: "acme", model: "unstated", tokens: unstated }),
          sampleRecord({ requestedAt: clock.now() - 1 }),
        ],
        bodies: [],
        coverage: [],
      });
      const status = (await (await ask("/v1/status")).json()) as StatusResponse;
      const models = status.last_24_hours.unpriced_models ?? [];
      assert.deepEqual(
        models.map(({ provider, model, requests, fix }) => [provider, model, requests, fix?.commands[0]]),
        [
          ["acme", "m", 2, "meter recompute-costs"],
          ["openai", "no-such-model", 1, "meter pricing pull --source litellm"],
        ],
      );
      assert.deepEqual(models[0]?.fix?.toml[0], "[[pricing.operator]]");
      assert.ok(acme.some(({ requestId }) => requestId === models[0]?.last_request_id));
    }));

  it("reads no rates if every request has a price", () =>
    withApi(
      async ({ store, ask, clock }) => {
        store.records.insert([sampleRecord({ requestedAt: clock.now() - 1 })]);
        const status = (await (await ask("/v1/status")).json()) as StatusResponse;
        assert.deepEqual(status.last_24_hours.unpriced_models, []);
      },
      {
        prices: () => {
          throw new Error("the rates are not needed");
        },
      },
    ));
});

describe("GET /v1/stats", () => {
  it("sums a period exactly by day, project and model, with counts of what the sums lack", () =>
    withApi(async ({ store, ask }) => {
      store.insertBatch({
        records: [
          sampleRecord({ costPicoUsd: 3_000_000_000_000n, project: "a" }),
          sampleRecord({ costPicoUsd: 1n, project: "b", model: "m" }),
          sampleRecord({ costPicoUsd: null, costSource: "unpriced", project: "b" }),
        ],
        bodies: [],
        coverage: [
          { at: noon, host: "api.anthropic.com", kind: "metered", count: 3 },
          { at: noon, host: "api.anthropic.com", kind: "websocket", count: 1 },
        ],
      });
      const answer = await ask("/v1/stats?days=utc");
      assert.equal(answer.status, 200);
      const stats = v.parse(statisticsSchema, await answer.json());
      assert.equal(stats.totals.requests, 3);
      assert.equal(stats.totals.cost_pico_usd, "3000000000001");
      assert.equal(stats.totals.cost_usd, "3.000000000001");
      assert.equal(stats.totals.unpriced_requests, 1);
      assert.equal(stats.totals.thinking_tokens, null);
      assert.equal(stats.totals.prompt_tokens, 300);
      assert.deepEqual(
        stats.days.map(({ date, requests }) => [date, requests]),
        [["2026-05-12", 3]],
      );
      assert.deepEqual(
        stats.projects.map(({ project }) => project),
        ["a", "b"],
      );
      assert.deepEqual(
        stats.models.map(({ model, requests }) => [model, requests]),
        [
          ["claude-sonnet-4-5", 2],
          ["m", 1],
        ],
      );
      assert.deepEqual(stats.coverage, {
        metered: 3,
        seen: 4,
        permille: 750,
        without_usage: 0,
        not_kept: [],
        missing: [{ kind: "websocket", count: 1 }],
      });
      assert.deepEqual(
        [stats.from, stats.to, stats.days_in],
        ["2026-04-13T00:00:00.000Z", "2026-05-12T18:00:00.001Z", "utc"],
      );
    }));

  it("uses a half-open period, and rejects invalid and too long ones", () =>
    withApi(async ({ store, ask }) => {
      store.records.insert([sampleRecord({ requestedAt: noon }), sampleRecord({ requestedAt: noon + 1000 })]);
      const requests = async (query: string) =>
        v.parse(statisticsSchema, await (await ask(`/v1/stats?days=utc&${query}`)).json()).totals.requests;
      assert.equal(await requests("from=2026-05-12T12:00:00Z&to=2026-05-12T12:00:01Z"), 1);
      assert.equal(await requests("from=2026-05-12&to=2026-05-13"), 2);
      assert.equal(await requests("from=2026-05-13&to=2026-05-14"), 0);
      assert.deepEqual(await codeOf(await ask("/v1/stats?from=yesterday")), [400, "period_malformed"]);
      assert.deepEqual(await codeOf(await ask("/v1/stats?to=2026-02-30")), [400, "period_malformed"]);
      assert.deepEqual(await codeOf(await ask("/v1/stats?from=2026-05-14&to=2026-05-13")), [
        400,
        "period_reversed",
      ]);
      assert.deepEqual(await codeOf(await ask("/v1/stats?from=2020-01-01")), [400, "period_too_long"]);
      assert.deepEqual(await codeOf(await ask("/v1/stats?days=lunar")), [400, "invalid_query"]);
    }));
});

describe("GET /v1/projects", () => {
  it("lists projects with their usage and body capture setting", () =>
    withApi(async ({ store, ask }) => {
      store.records.insert([
        sampleRecord({ project: "a", requestedAt: noon }),
        sampleRecord({ project: "b", costPicoUsd: 1n }),
      ]);
      store.settings.setBodyCapture("a", true, noon);
      const { items } = v.parse(projectListSchema, await (await ask("/v1/projects")).json());
      assert.deepEqual(
        items.map(({ project, body_capture }) => [project, body_capture]),
        [
          ["a", true],
          ["b", null],
        ],
      );
      assert.equal(items[0]?.last_requested_at, new Date(noon).toISOString());
    }));
});

describe("GET /v1/requests", () => {
  it("lists the newest first in pages, with null for unknown values", () =>
    withApi(async ({ store, ask }) => {
      const records = Array.from({ length: 5 }, () => sampleRecord({ costPicoUsd: null, client: null }));
      store.records.insert(records);
      const seen: string[] = [];
      let cursor = "";
      for (let page = 0; page < 3; page++) {
        const list = v.parse(requestListSchema, await (await ask(`/v1/requests?limit=2${cursor}`)).json());
        seen.push(...list.items.map(({ request_id }) => request_id));
        assert.equal(list.items[0]?.cost_pico_usd, null);
        assert.equal(list.items[0]?.cost_usd, null);
        assert.equal(list.items[0]?.client, null);
        cursor = `&cursor=${list.next_cursor}`;
        if (page === 2) assert.equal(list.next_cursor, null);
      }
      assert.deepEqual(seen, records.map(({ requestId }) => requestId).toReversed());
    }));

  it("filters, and names an invalid parameter", () =>
    withApi(async ({ store, ask }) => {
      store.records.insert([sampleRecord({ project: "a&b" }), sampleRecord({ errorClass: "timeout" })]);
      const count = async (query: string) =>
        v.parse(requestListSchema, await (await ask(`/v1/requests?${query}`)).json()).items.length;
      assert.equal(await count("project=a%26b"), 1);
      assert.equal(await count("status=failed"), 1);
      store.records.insert([
        sampleRecord({ billingMode: "plan", costPicoUsd: null, costSource: "unpriced" }),
        sampleRecord({ billingMode: null, tokensComplete: false }),
      ]);
      assert.equal(await count("billing=plan"), 1);
      assert.equal(await count("billing=unknown"), 1);
      // An older daemon's record is shown as it is counted.
      const [older] = v.parse(
        requestListSchema,
        await (await ask("/v1/requests?billing=unknown")).json(),
      ).items;
      assert.equal(older?.billing_mode, "unknown");
      assert.equal(await count("status=unpriced"), 1);
      assert.equal(await count("status=incomplete"), 1);
      assert.equal(await count("from=2026-05-12&to=2026-05-13&days=utc"), 4);
      const wrong = [
        "limit=0",
        "limit=201",
        "limit=x",
        "cursor=-1",
        "cursor=1e9",
        "status=2000",
        "status=broken",
        "billing=monthly",
        `model=${"m".repeat(257)}`,
      ];
      for (const query of wrong)
        assert.deepEqual(await codeOf(await ask(`/v1/requests?${query}`)), [400, "invalid_query"], query);
    }));

  it("returns CSV by header or query, with formulas escaped", () =>
    withApi(async ({ store, ask }) => {
      store.records.insert([
        sampleRecord({
          model: '=HYPERLINK("http://evil.test")',
          project: "a,b",
          costPicoUsd: 1_500_000_000n,
          client: null,
        }),
      ]);
      for (const answer of [
        await ask("/v1/requests?format=csv"),
        await ask("/v1/requests", { headers: { accept: "text/csv, */*;q=0.1" } }),
      ]) {
        assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/);
        assert.match(answer.headers.get("content-disposition") ?? "", /^attachment/);
        const [head, line, end] = (await answer.text()).split("\r\n");
        assert.match(head ?? "", /^request_id,requested_at,project,provider,model,/);
        assert.match(line ?? "", /,"a,b",anthropic,"'=HYPERLINK\(""http:\/\/evil\.test""\)",/);
        assert.match(line ?? "", /,0\.0015,computed,/);
        assert.equal(end, "");
      }
      const json = await ask("/v1/requests?format=json", { headers: { accept: "text/csv" } });
      assert.match(json.headers.get("content-type") ?? "", /^application\/json/);
      store.records.insert([sampleRecord()]);
      assert.match(
        (await ask("/v1/requests?format=csv&limit=1")).headers.get("x-next-cursor") ?? "",
        /^\d+$/,
      );
    }));
});

describe("GET /v1/requests/{id}", () => {
  it("returns the lines of a cost", () =>
    withApi(async ({ store, ask }) => {
      const record = sampleRecord({ costPicoUsd: 1n });
      store.records.insert([record]);
      const explanation = v.parse(
        requestExplanationSchema,
        await (await ask(`/v1/requests/${record.requestId}`)).json(),
      );
      assert.equal(explanation.request.request_id, record.requestId);
      assert.equal(explanation.agrees, false);
      const sum = explanation.lines.reduce((total, line) => total + BigInt(line.cost_pico_usd), 0n);
      assert.equal(explanation.computed_pico_usd, sum.toString());
      for (const id of ["01", "msg_1", "%00", crypto.randomUUID()])
        assert.deepEqual(await codeOf(await ask(`/v1/requests/${id}`)), [404, "not_found"], id);
    }));
});

describe("GET /v1/events", () => {
  const decoder = new TextDecoder();
  const readText = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
    decoder.decode((await reader.read()).value);
  const open = async (rig: ApiRig, headers: Record<string, string> = {}) => {
    const answer = await rig.ask("/v1/events", { headers });
    assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
    return (answer.body as ReadableStream<Uint8Array>).getReader();
  };
  const itemOf = (event: string) =>
    v.parse(requestItemSchema, JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? ""));

  it("sends each record as it is stored, and heartbeats in between", () =>
    withApi(async (rig) => {
      const reader = await open(rig);
      assert.equal(await readText(reader), "retry: 3000\n\n");
      const record = sampleRecord({ model: "with\nbreak" });
      rig.ports.feed.publish([record]);
      const event = await readText(reader);
      assert.ok(
        event.startsWith(`id: ${record.requestId}\nevent: request\ndata: {`) && event.endsWith("}\n\n"),
      );
      assert.equal(itemOf(event).model, "with\nbreak");
      rig.clock.advance(HEARTBEAT_MS);
      assert.equal(await readText(reader), ": still here\n\n");
      await reader.cancel();
      rig.ports.feed.publish([record]);
      assert.equal(rig.clock.nextTimerMs(), null, "no timer outlives its reader");
    }));

  it("sends what happens to limits", () =>
    withApi(async (rig) => {
      const reader = await open(rig);
      await readText(reader);
      const window = reading({ usedPpm: 910_000, scope: "opus", resetAt: noon });
      const event = { reading: window, level: "warning", isEarly: false } as const;
      rig.ports.feed.publishLimit({ ...event, name: "limit.warning" });
      assert.equal(
        await readText(reader),
        'event: limit.warning\ndata: {"provider":"anthropic","account":"a1","window":"5h","scope":"opus","severity":"warning","used_percent":91,"resets_at":"2026-05-12T12:00:00.000Z"}\n\n',
      );
      rig.ports.feed.publishLimit({ ...event, name: "limit.reset", reading: { ...window, resetAt: null } });
      assert.match(await readText(reader), /^event: limit\.reset\n.*"resets_at":null,"early":false\}\n\n$/s);
      await reader.cancel();
    }));

  it("resends missed records", () =>
    withApi(async (rig) => {
      const records = [sampleRecord(), sampleRecord(), sampleRecord()];
      rig.store.records.insert(records);
      const reader = await open(rig, { "last-event-id": records[0]?.requestId ?? "" });
      await readText(reader);
      for (const record of records.slice(1))
        assert.equal(itemOf(await readText(reader)).request_id, record.requestId);
      await reader.cancel();
    }));

  it("disconnects slow readers, ends with the daemon, and limits the number of readers", () =>
    withApi(async (rig) => {
      const slow = await open(rig);
      for (let n = 0; n < 300; n++) rig.ports.feed.publish([sampleRecord()]);
      let events = 0;
      while (!(await slow.read()).done) events++;
      assert.equal(events, 256);
      const readers = await Promise.all(Array.from({ length: 16 }, () => open(rig)));
      assert.deepEqual(await codeOf(await rig.ask("/v1/events")), [503, "too_many_listeners"]);
      await readers[0]?.cancel();
      readers[0] = await open(rig);
      rig.ports.feed.close();
      for (const reader of readers) {
        await reader.read();
        assert.equal((await reader.read()).done, true);
      }
      assert.equal(rig.clock.nextTimerMs(), null);
      assert.deepEqual(await codeOf(await rig.ask("/v1/events")), [503, "too_many_listeners"]);
    }));
});

describe("GET /metrics", () => {
  it("renders the Prometheus text format with a bounded number of series", () =>
    withApi(async ({ ports, ask }) => {
      ports.counters.addRecords([
        sampleRecord({ model: 'a"b\\c\nd', costPicoUsd: 1_500_000_000_000n }),
        sampleRecord({ model: 'a"b\\c\nd', costPicoUsd: 250_000_000_000n, billingMode: "plan" }),
        sampleRecord({ model: 'a"b\\c\nd', costPicoUsd: null, errorClass: "timeout" }),
        ...Array.from({ length: 300 }, (_, n) => sampleRecord({ model: `m${n}`, project: `p${n}` })),
      ]);
      ports.counters.addCoverage("metered");
      const answer = await ask("/metrics");
      assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
      const text = await answer.text();
      const has = (line: string) => assert.ok(text.split("\n").includes(line), line);
      const labels = String.raw`provider="anthropic",model="a\"b\\c\nd"`;
      has(`meter_requests_total{${labels},outcome="ok"} 2`);
      has(`meter_requests_total{${labels},outcome="failed"} 1`);
      has(`meter_cost_usd_total{${labels},billing="metered"} 1.5`);
      has(`meter_cost_usd_total{${labels},billing="plan"} 0.25`);
      has('meter_project_cost_usd_total{project="acme-web",billing="plan"} 0.25');
      has(`meter_unpriced_requests_total{${labels}} 1`);
      has(`meter_tokens_total{${labels},type="cache_read"} 6000`);
      has('meter_requests_total{provider="other",model="other",outcome="ok"} 201');
      has('meter_project_requests_total{project="acme-web"} 3');
      has('meter_coverage_total{kind="metered"} 1');
      has('meter_build_info{version="0.4.0"} 1');
      has("meter_store_capturing 1");
      has('meter_store_dropped_total{reason="disk_full"} 2');
      has("meter_proxy_accepted_total 7");
      has("meter_proxy_warm_connections 2");
      has('meter_proxy_warm_total{result="used"} 5');
      assert.ok(text.split("\n").length < 1_200);
      for (const line of text.trimEnd().split("\n"))
        assert.match(
          line,
          /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)+\})? [\d.]+)$/,
        );
    }));

  it("has refused calls apart from those that succeeded", () =>
    withApi(async ({ ports, ask }) => {
      const model = "m";
      ports.counters.addRecords([
        sampleRecord({ model }),
        sampleRecord({ model, costPicoUsd: 0n, blockedBy: "day" }),
        sampleRecord({ model, costPicoUsd: 0n, blockedBy: "day" }),
      ]);
      const lines = (await (await ask("/metrics")).text()).split("\n");
      const outcomes = ["ok 1", "failed 0", "blocked 2"].map((each) => {
        const [outcome, count] = each.split(" ");
        return `meter_requests_total{provider="anthropic",model="m",outcome="${outcome}"} ${count}`;
      });
      for (const line of outcomes) assert.ok(lines.includes(line), line);
    }));

  it("states each budget's amounts, state and counters", () => {
    const budgets = [
      { name: "day", amount: "10 USD", period: "day", at_limit: "block" },
      { name: 'a"b', amount: "100 requests", period: "total" },
      { name: "lost", amount: "5M tokens", period: "total" },
    ].map(({ name, ...input }): ActiveBudget => {
      const parsed = parseBudget({ ...input, name: "any" }, { zone: "UTC" });
      assert.ok(parsed.ok);
      return { budget: { ...parsed.budget, name }, isPaused: false, liftedUntil: null };
    });
    const now = Date.UTC(2026, 4, 12, 18);
    const load = (state: BudgetsState, budget: string, used: bigint): BudgetsState => {
      const part = { at: Date.UTC(2026, 4, 12), used, calls: 2, unknown: 0 };
      const sums = [{ key: "", parts: [part], fired: [] }];
      return budgetTransition(state, { kind: "sums_loaded", budget, key: null, sums }, now).state;
    };
    const set = budgetTransition(initialBudgetsState, { kind: "budgets_set", budgets }, now).state;
    const state = load(load(set, "day", 9_500_000_000_000n), 'a"b', 1n);
    const change: Partial<ApiPorts> = {
      budgets: {
        tracker: { refresh() {}, state: () => state, cutCalls: () => new Map([["day", 3]]) },
        configured: [budgets[0]!.budget],
        letThrough: () => ({ calls: 5, early: 1, byBudget: new Map([["day", { late: 4 }]]) }),
        confirmed: async () => true,
      },
    };
    return withApi(async ({ ports, ask }) => {
      ports.counters.addRecords([
        ...Array.from({ length: 150 }, (_, n) => sampleRecord({ blockedBy: n < 2 ? "day" : `b${n}` })),
      ]);
      const text = await (await ask("/metrics")).text();
      const lines = text.split("\n");
      const has = (line: string) => assert.ok(lines.includes(line), line);
      const of = (budget: string) => `{budget="${budget}"}`;
      has('meter_budget_info{budget="day",source="config.toml",period="day",at_limit="block"} 1');
      has('meter_budget_info{budget="lost",source="command line",period="total",at_limit="warn"} 1');
      has(`meter_budget_limit_usd${of("day")} 10`);
      has(`meter_budget_used_usd${of("day")} 9.5`);
      has(`meter_budget_in_flight_usd${of("day")} 0`);
      has(`meter_budget_used_ratio${of("day")} 0.95`);
      has(`meter_budget_limit_requests${of('a\\"b')} 100`);
      has(`meter_budget_used_requests${of('a\\"b')} 1`);
      has(`meter_budget_limit_tokens${of("lost")} 5000000`);
      has('meter_budget_state{budget="day",state="warning"} 1');
      has('meter_budget_state{budget="day",state="ok"} 0');
      has('meter_budget_state{budget="lost",state="unknown"} 1');
      has(`meter_budget_refused_total${of("day")} 2`);
      has(`meter_budget_refused_total${of("other")} 49`);
      has(`meter_budget_cut_total${of("day")} 3`);
      has('meter_budget_let_through_total{budget="day",reason="late"} 4');
      has("meter_budget_undecided_calls_total 5");
      assert.doesNotMatch(text, /(?:used_tokens|used_ratio)\{budget="lost"/);
    }, change);
  });
});
