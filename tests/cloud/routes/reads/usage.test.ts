import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import {
  readOverviewParts,
  readUsageForecast,
  readUsageAnswer as usageAnswer,
} from "../../../../cloud/routes/reads/read-usage.ts";
import { findWorkspaceAccess } from "../../../../cloud/store/workspaces.ts";
import { parseUsageQuery, type UsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import { metricOf, parseSums } from "../../../../core/pricing/view/usage-sums.ts";
import type { BillingMode, CostSource, RequestRecord } from "../../../../core/values/record.ts";
import { BILLING_MODES } from "../../../../core/values/record-fields.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import {
  type UsageAnswer,
  usageAnswerSchema,
  usageForecastSchema,
  usageValuesSchema,
} from "../../../../core/wire/usage.ts";
import { readUsageAnswer } from "../../../../daemon/api/read-usage.ts";
import { propertyRuns } from "../../../core/property-runs.rig.ts";
import { withStore } from "../../../daemon/store/open-sample-store.rig.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { batch, type CloudRig, createRig, json, record, START, UNLIMITED } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A request as both sides receive it. */
interface Sent {
  readonly ago: number;
  readonly project: string;
  readonly model: "gpt-4o" | "unheard-of";
  readonly branch: string | null;
  readonly failed: boolean;
  readonly blocked: boolean;
  readonly tokens: {
    readonly prompt: number;
    readonly read: number | null;
    readonly completion: number;
  } | null;
  readonly billing: BillingMode | null;
}

const aRequest: fc.Arbitrary<Sent> = fc.record({
  ago: fc.oneof(
    fc.integer({ min: 1, max: 40 * 24 }).map((hours) => hours * HOUR),
    fc.integer({ min: 1, max: 3 * DAY }),
  ),
  project: fc.constantFrom("docs", "shop", "web"),
  model: fc.constantFrom("gpt-4o" as const, "unheard-of" as const),
  branch: fc.constantFrom("main", "topic", null),
  failed: fc.boolean(),
  blocked: fc.boolean(),
  tokens: fc.option(
    fc.record({
      prompt: fc.integer({ min: 1, max: 900 }),
      read: fc.constantFrom(null, 0, 7),
      completion: fc.integer({ min: 1, max: 900 }),
    }),
    { nil: null },
  ),
  billing: fc.constantFrom(...BILLING_MODES, null),
});

/** Queries that the rollups answer, and queries that need requests. */
const QUERIES = [
  ["tz=UTC&by=model&then=project", true],
  ["period=7d&tz=America/New_York&by=project&bucket=day&model.not=unheard-of", true],
  ["period=7d&tz=UTC&metric=tokens&by=provider&compare=none", true],
  [`from=${new Date(START - 50 * HOUR - 1_234_567).toISOString()}&bucket=hour&top=1&by=project&tz=UTC`, true],
  ["period=12m&compare=none&by=model&tz=Europe/Berlin&bucket=month", true],
  ["period=30d&tz=Australia/Sydney&by=project&then=model", true],
  ["period=90d&tz=Pacific/Auckland&by=model&metric=tokens&compare=none&bucket=week", true],
  ["period=30d&tz=America/Los_Angeles&by=branch&compare=none", true],
  ["bucket=none&by=project&project=shop&tz=UTC", true],
  ["period=90d&compare=none&by=project&then=branch&tz=Europe/Berlin", true],
  ["period=12m&compare=none&by=branch&bucket=month&tz=UTC&top=1", true],
  [
    `from=${new Date(START - 50 * HOUR - 1_234_567).toISOString()}&bucket=hour&by=branch&project=shop&tz=UTC`,
    true,
  ],
  ["period=30d&by=project&branch.not=main&tz=America/New_York", true],
  ["period=today&by=project&tz=UTC", false],
  ["by=branch&then=model&top=1&tz=UTC", true],
  ["period=7d&by=billing&tz=Asia/Kathmandu&status=ok", false],
  ["period=7d&by=model&tz=UTC&status=blocked", false],
  ["by=cost&then=tokens&branch=&metric=requests&tz=UTC", false],
  ["by=status&then=billing&cost.not=unpriced&compare=none&tz=Europe/Berlin", false],
] as const;

/** The machine of these requests does not state its coverage to the cloud. The daemon knows its own. */
function withoutCoverage(answer: UsageAnswer): UsageAnswer {
  const caveats = answer.caveats.filter(({ kind }) => kind !== "unknown_coverage");
  return { ...answer, coverage: null, caveats };
}

/** Values that rollups do not have are unknown: some counts, and whether a sum of 0 tokens is complete. */
function withoutUnknown(answer: UsageAnswer): UsageAnswer {
  const text = JSON.stringify(withoutCoverage(answer), (key, value) => {
    if (["estimated_requests", "unknown_billing_requests", "cache_write_1h_tokens"].includes(key))
      return null;
    return key.endsWith("_tokens") && value === 0 ? null : value;
  });
  const known = JSON.parse(text) as UsageAnswer;
  const caveats = known.caveats.filter(({ kind }) => kind !== "estimated" && kind !== "unknown_billing");
  return { ...known, caveats };
}

describeOnOneEngine("usage", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  async function open() {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const session = await rig.sessionFor(workspace.userId);
    const get = (path: string) => rig.call("GET", `/v1/workspaces/${workspace.id}/usage${path}`, session);
    const send = (...records: Record<string, unknown>[]) =>
      rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));
    return { workspace, get, send };
  }

  const toWire = (sent: Sent) =>
    record(rig.uuid(), {
      requested_at: new Date(START - sent.ago).toISOString(),
      model: sent.model,
      project: sent.project,
      git_branch: sent.branch,
      http_status: sent.failed ? 500 : 200,
      error_class: sent.failed ? "server_error" : null,
      blocked_by: sent.blocked ? "cap" : null,
      prompt_tokens: sent.tokens?.prompt ?? null,
      cache_read_tokens: sent.tokens?.read ?? null,
      completion_tokens: sent.tokens?.completion ?? null,
      request_kind: "chat",
      tokens_complete: sent.tokens !== null,
      billing_mode: sent.billing,
    });

  /** The daemon's record of the same request, with the cost that the cloud has computed. */
  function toRecord(sent: Sent, costPicoUsd: bigint | null, costSource: string): RequestRecord {
    return sampleRecord({
      requestedAt: START - sent.ago,
      provider: "openai",
      model: sent.model,
      project: sent.project,
      gitBranch: sent.branch,
      httpStatus: sent.failed ? 500 : 200,
      errorClass: sent.failed ? "server_error" : null,
      blockedBy: sent.blocked ? "cap" : null,
      tokens: {
        promptTokens: sent.tokens?.prompt ?? null,
        cacheReadTokens: sent.tokens?.read ?? null,
        cacheWriteTokens: null,
        cacheWrite1hTokens: null,
        completionTokens: sent.tokens?.completion ?? null,
        thinkingTokens: null,
      },
      tokensComplete: sent.tokens !== null,
      billingMode: sent.billing,
      costPicoUsd,
      costSource: costSource as CostSource,
    });
  }

  it("returns the daemon's answer to the same query of the same requests", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aRequest, { minLength: 1, maxLength: 30, size: "max" }), async (requests) => {
        const { workspace, get, send } = await open();
        const wire = requests.map(toWire);
        await send(...wire);
        const rows = await rig.db
          .selectFrom("requests")
          .select(["request_id", "cost_pico_usd", "cost_source"])
          .where("workspace_id", "=", workspace.id)
          .execute();
        const costs = new Map(rows.map((row) => [row.request_id, row]));
        await withStore(async (store) => {
          const records = requests.map((sent, at) => {
            const row = costs.get(`${wire[at]?.request_id}`) ?? assert.fail("not stored");
            return toRecord(
              sent,
              row.cost_pico_usd === null ? null : BigInt(row.cost_pico_usd),
              row.cost_source,
            );
          });
          store.insertBatch({ records, bodies: [], coverage: [] });
          const ports = { store, clock: createManualClock(START), turn: async () => {} };
          for (const [text, isFromRollups] of QUERIES) {
            const here = await readUsageAnswer(ports, parseUsageQuery(new URLSearchParams(text)).query);
            assert.ok(here.ok, text);
            const there = (await json(get(`?${text}`))) as UsageAnswer;
            assert.deepEqual(parseWire(usageAnswerSchema, there), { ok: true, value: there }, text);
            const compare = isFromRollups ? withoutUnknown : withoutCoverage;
            assert.deepEqual(compare(there), compare(here.value), text);
          }
        });
      }),
      { numRuns: propertyRuns(engine.name === "pglite" ? 5 : 6) },
    );
  });

  it("answers the parts of the overview as each query alone", async () => {
    const { workspace, send } = await open();
    const requests = fc.sample(aRequest, { numRuns: 60, seed: 7 });
    await send(...requests.map(toWire));
    const access = (await findWorkspaceAccess(rig.db, workspace.userId, workspace.id)) ?? assert.fail();
    const { parts } = rig;
    const dimensions = ["project", "machine", "person", "model"] as const;
    for (const text of [
      "tz=UTC",
      "tz=Europe/Berlin&metric=tokens",
      "tz=America/New_York&branch=main&metric=requests",
      "tz=Asia/Kathmandu&status=ok",
    ]) {
      const { query } = parseUsageQuery(new URLSearchParams(text));
      const alone = { ...query, by: null, compare: "none" } as const;
      const queries = {
        breakdowns: { ...query, top: 2 },
        forecast: alone,
        year: { ...alone, period: "30d", bucket: "day" },
        hours: { ...alone, period: "7d", bucket: "hour" },
      } as const;
      const read = await readOverviewParts(parts, access, queries, dimensions);
      const answer = async (own: UsageQuery) => {
        const result = await usageAnswer(parts, access, own, "none");
        return result.ok ? result.value : assert.fail(result.detail);
      };
      const breakdowns = dimensions.map((by) => answer({ ...queries.breakdowns, by, bucket: "none" }));
      // Requests, which one of the dimensions may need, also have what the sums of another one lack.
      assert.deepEqual(
        read.breakdowns.map(withoutUnknown),
        (await Promise.all(breakdowns)).map(withoutUnknown),
        text,
      );
      const forecast = await readUsageForecast(parts, access, alone);
      assert.deepEqual(read.forecast, forecast.ok ? forecast.value : null, text);
      for (const [own, series] of [
        [queries.year, read.year],
        [queries.hours, read.hours],
      ] as const) {
        const { buckets } = await answer(own);
        const values = buckets.map(({ label, totals }) => [
          label,
          totals.requests,
          metricOf(parseSums(totals), own.metric) ?? 0n,
        ]);
        assert.deepEqual(
          series?.buckets.map(({ label, requests, value }) => [label, requests, value]),
          values,
          text,
        );
        assert.ok(
          values.some(([, count]) => count !== 0),
          text,
        );
      }
    }
  });

  it("names machines and people, lists values and estimates the month", async () => {
    const { workspace, get, send } = await open();
    await send(record(rig.uuid(), { git_branch: "main" }), record(rig.uuid()));
    const machines = (await json(get("?by=machine&then=person&period=7d"))) as UsageAnswer;
    assert.equal(machines.rows[0]?.key, workspace.machineId);
    assert.notEqual(machines.rows[0]?.label, workspace.machineId);
    assert.equal(machines.columns[0]?.key, workspace.userId);
    assert.deepEqual(
      machines.caveats.filter(({ kind }) => kind === "unknown_coverage").map(({ sentence }) => sentence),
      ["The coverage of 1 machine is unknown."],
    );
    const values = await json(get("/values?dimension=branch&q=MAI"));
    assert.deepEqual(parseWire(usageValuesSchema, values), { ok: true, value: values });
    assert.deepEqual(values.items, [{ value: "main", label: "main", requests: 1 }]);
    const forecast = await json(get("/forecast?metric=requests"));
    assert.deepEqual(parseWire(usageForecastSchema, forecast), { ok: true, value: forecast });
    assert.deepEqual([forecast.to_date, forecast.estimate], ["2", null]);
    assert.match(await (await get("?by=model&format=csv")).text(), /^model,requests,/);
    assert.match(await (await get("?by=model&format=md")).text(), /\| gpt-4o \| 2 \|/);
  });

  it("groups by session, agent, branch and client", async () => {
    const { get, send } = await open();
    const stated = { git_branch: "main", client_version: "2.1.240", session_id: "5e".repeat(16) };
    await send(record(rig.uuid(), { ...stated, agent_id: "a9".repeat(16) }), record(rig.uuid()));
    const keysOf = async (query: string) => {
      const { by, then_by, rows } = (await json(get(`?${query}`))) as UsageAnswer;
      return [by, then_by, ...rows.map(({ key }) => key ?? "").sort()];
    };
    assert.deepEqual(await keysOf("by=session"), ["session", null, "", stated.session_id]);
    assert.deepEqual(await keysOf("by=agent"), ["agent", null, "", "a9".repeat(16)]);
    assert.deepEqual(await keysOf("by=branch"), ["branch", null, "", "main"]);
    // A cloud knows only the version of a client.
    assert.deepEqual(await keysOf("by=client"), ["client_version", null, "", "2.1.240"]);
    assert.deepEqual(await keysOf("by=branch&then=client"), ["branch", "client_version", "", "main"]);
  });

  it("moves a period up to the retention floor, and then compares it with nothing", async () => {
    const { get } = await open();
    const answer = (await json(get("?from=2026-01-01&bucket=month&tz=UTC"))) as UsageAnswer;
    assert.equal(answer.compared_period, null);
    const solo = await rig.addWorkspace({ plan: "solo" });
    const session = await rig.sessionFor(solo.userId);
    const path = `/v1/workspaces/${solo.id}/usage?from=2025-10-20&to=2025-11-01&bucket=none`;
    const past = (await json(rig.call("GET", path, session))) as UsageAnswer;
    assert.deepEqual([past.totals.requests, past.caveats[0]?.kind], [0, "clamped"]);
  });

  const refused: readonly (readonly [query: string, code: string])[] = [
    ["projcet=a", "wrong_shape"],
    ["client=curl", "wrong_shape"],
    ["by=client&then=client_version", "wrong_shape"],
    ["by=client&by=model", "wrong_shape"],
    ["format=xml", "wrong_shape"],
    ["from=soon", "period_malformed"],
    ["from=2026-11-02&to=2026-11-01", "period_reversed"],
    ["period=90d&by=session", "period_too_long"],
  ];
  it("refuses unknown parameters, and long periods that need requests", async () => {
    const { get } = await open();
    for (const [query, code] of refused) {
      const response = await get(`?${query}`);
      assert.deepEqual([response.status, (await json(response)).code], [422, code], query);
    }
  });
});
