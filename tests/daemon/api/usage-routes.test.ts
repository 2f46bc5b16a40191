import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ListedModelsAnswer,
  listedModelsSchema,
  type ModelComparisonAnswer,
  modelComparisonSchema,
} from "../../../core/wire/model-comparison.ts";
import { parseWire } from "../../../core/wire/parse.ts";
import {
  type UsageAnswer,
  type UsageForecast,
  type UsageValues,
  usageAnswerSchema,
  usageForecastSchema,
  usageValuesSchema,
} from "../../../core/wire/usage.ts";
import { inZone } from "../store/in-zone.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { type ApiRig, openApi } from "./api.rig.ts";

const DAY_MS = 86_400_000;

/** The clock of the rig. */
const NOW = Date.UTC(2026, 4, 12, 18);

async function withUsage(work: (rig: ApiRig) => Promise<void>): Promise<void> {
  const rig = await openApi();
  const made = (agoMs: number, more: Parameters<typeof sampleRecord>[0] = {}) =>
    sampleRecord({ requestedAt: NOW - agoMs, costPicoUsd: 1_000n, billingMode: "metered", ...more });
  rig.store.insertBatch({
    records: [
      made(0, { project: "a", model: "x", sessionId: "s1" }),
      made(60_000, { project: "a", model: "y", billingMode: "plan" }),
      made(DAY_MS, { project: "b", model: "x", costPicoUsd: null, costSource: "unpriced" }),
      made(36 * DAY_MS, { project: "b", model: "x", costPicoUsd: 400n }),
    ],
    bodies: [],
    coverage: [
      { at: NOW, host: "api.a.test", kind: "metered", count: 3 },
      { at: NOW, host: "api.a.test", kind: "websocket", count: 1 },
    ],
  });
  try {
    await work(rig);
  } finally {
    rig.close();
  }
}

const read = async <Answer>({ ask }: ApiRig, path: string) => (await (await ask(path)).json()) as Answer;

describe("GET /v1/usage", () => {
  // Node knows no zone of these names, and shows local times in UTC.
  for (const zone of [":/etc/localtime", "", "Nowhere/Land"])
    it(`answers in UTC if TZ is ${JSON.stringify(zone)}`, () =>
      inZone(zone, () =>
        withUsage(async (rig) => {
          const answer = await read<UsageAnswer>(rig, "/v1/usage?period=today");
          assert.equal(answer.tz, "UTC");
          assert.equal(answer.totals.requests, 2);
        }),
      ));

  it("answers with totals, rows, buckets, the period before, coverage and caveats", () =>
    withUsage(async (rig) => {
      const answer = await read<UsageAnswer>(rig, "/v1/usage?by=project&then=model&tz=UTC");
      assert.deepEqual(parseWire(usageAnswerSchema, answer), { ok: true, value: answer });
      assert.equal(answer.query, "tz=UTC&by=project&then=model");
      assert.equal(answer.period.label, "Last 30 days: 2026-04-13 to 2026-05-12");
      assert.deepEqual(
        [answer.totals.requests, answer.totals.spent_pico_usd, answer.totals.plan_usage_pico_usd],
        [3, "1000", "1000"],
      );
      assert.deepEqual(
        answer.rows.map(({ key, totals, compared, cells }) => [
          key,
          totals.requests,
          compared?.spent_pico_usd,
          cells.map((cell) => [cell.key, cell.totals.requests]),
        ]),
        [
          [
            "a",
            2,
            "0",
            [
              ["x", 1],
              ["y", 1],
            ],
          ],
          ["b", 1, "400", [["x", 1]]],
        ],
      );
      assert.deepEqual(
        [answer.bucket, answer.buckets.length, answer.buckets.at(-1)?.totals.requests],
        ["day", 30, 2],
      );
      assert.deepEqual(answer.change, { delta: "600", key: "a", label: "a", explained: "1000" });
      assert.deepEqual(answer.coverage, {
        metered: 3,
        seen: 4,
        permille: 750,
        missing: [{ kind: "websocket", count: 1 }],
        unknown_machines: 0,
      });
      assert.deepEqual(
        answer.caveats.map(({ kind, requests, query }) => [kind, requests, query]),
        [
          ["unpriced", 1, "tz=UTC&by=project&then=model&cost=unpriced"],
          ["not_metered", 1, null],
        ],
      );
      const [unpriced] = answer.caveats;
      const opened = await read<UsageAnswer>(rig, `/v1/usage?${unpriced?.query}`);
      assert.equal(opened.totals.requests, 1);
    }));

  it("has the totals of GET /v1/stats", () =>
    withUsage(async (rig) => {
      const period = "from=2026-03-01T00:00:00Z&to=2026-05-13T00:00:00Z";
      const { totals: all } = await read<{ totals: Record<string, unknown> }>(
        rig,
        `/v1/stats?${period}&days=utc`,
      );
      const { totals } = await read<UsageAnswer>(rig, `/v1/usage?${period}&compare=none`);
      for (const [name, value] of Object.entries(totals))
        if (name in all) assert.equal(value, all[name], name);
    }));

  it("is CSV and Markdown as well", () =>
    withUsage(async ({ ask }) => {
      const csv = await ask("/v1/usage?by=model&format=csv");
      assert.match(csv.headers.get("content-type") ?? "", /^text\/csv/);
      assert.match(await csv.text(), /^model,requests,/);
      const markdown = await ask("/v1/usage?by=model&format=md");
      assert.match(await markdown.text(), /\| Total \| 3 \|/);
    }));

  const refused: readonly (readonly [query: string, code: string, detail: RegExp])[] = [
    ["projcet=a", "invalid_query", /^projcet: There is no such parameter\.$/],
    ["by=nothing&top=x", "invalid_query", /^by: Expected project, .* top: Expected a number/],
    ["by=machine", "invalid_query", /one machine/],
    ["person=ann", "invalid_query", /one machine/],
    ["from=2026-05-02&to=2026-05-01", "period_reversed", /before/],
    ["from=2020-01-01", "period_too_long", /400 days/],
    ["format=xml", "invalid_query", /^format: Expected json, csv, md\.$/],
  ];
  for (const [query, code, detail] of refused)
    it(`refuses ${query}`, () =>
      withUsage(async ({ ask }) => {
        const response = await ask(`/v1/usage?${query}`);
        const body = (await response.json()) as { code: string; detail: string };
        assert.deepEqual([response.status, body.code], [400, code]);
        assert.match(body.detail, detail);
      }));

  it("is not open to a dashboard without the secret", () =>
    withUsage(async ({ ask }) => {
      const response = await ask("/v1/usage", { headers: { origin: "https://dashboard.meter.cloud" } });
      assert.equal(response.status, 401);
    }));
});

describe("GET /v1/usage/values", () => {
  it("lists the values of a dimension that match, most requests first", () =>
    withUsage(async (rig) => {
      const values = await read<UsageValues>(rig, "/v1/usage/values?dimension=model&project=a&period=7d");
      assert.deepEqual(parseWire(usageValuesSchema, values), { ok: true, value: values });
      assert.deepEqual(
        values.items.map(({ value, requests }) => [value, requests]),
        [
          ["x", 1],
          ["y", 1],
        ],
      );
      const found = await read<UsageValues>(rig, "/v1/usage/values?dimension=session&q=S1");
      assert.deepEqual(found.items, [{ value: "s1", label: "s1", requests: 1 }]);
      assert.equal((await rig.ask("/v1/usage/values")).status, 400);
      assert.equal((await rig.ask("/v1/usage/values?dimension=person")).status, 400);
    }));
});

describe("GET /v1/usage/forecast", () => {
  it("states the month so far, and an estimate once there are 14 days", () =>
    withUsage(async (rig) => {
      const path = "/v1/usage/forecast?tz=UTC";
      const forecast = await read<UsageForecast>(rig, path);
      assert.deepEqual(parseWire(usageForecastSchema, forecast), { ok: true, value: forecast });
      assert.deepEqual([forecast.month, forecast.to_date, forecast.days], ["2026-05", "1000", 36]);
      assert.ok(BigInt(forecast.estimate?.expected ?? 0) >= 1_000n);
      const plan = await read<UsageForecast>(rig, `${path}&billing=plan&metric=plan_usage`);
      assert.deepEqual([plan.to_date, plan.days, plan.estimate], ["1000", 0, null]);
    }));
});

describe("GET /v1/usage/models", () => {
  it("lists the models of a choice and a search, as the page and its file do", () =>
    withUsage(async (rig) => {
      for (const query of [
        ...["models=unpriced", "q=x", "models=used&q=none-such", "models=unused&q=gpt-5"],
        "models=unpriced&q=y&period=7d&project=a",
      ]) {
        const answer = await read<ListedModelsAnswer>(rig, `/v1/usage/models?${query}`);
        assert.deepEqual(parseWire(listedModelsSchema, answer), { ok: true, value: answer });
        assert.deepEqual(await read(rig, `/models?${query}&format=json`), answer, query);
        const page = await (await rig.ask(`/models?${query}`)).text();
        const [, command = ""] = /data-copy="curl [^"]*?(\/v1\/[^"]*?)&#39;"/.exec(page) ?? [];
        assert.deepEqual(await read(rig, command.replaceAll("&amp;", "&")), answer, query);
      }
      const found = await read<UsageAnswer>(rig, "/v1/usage/models?q=x");
      assert.deepEqual(
        found.rows.map(({ key }) => key),
        ["x"],
      );
      assert.deepEqual(
        await read(rig, "/v1/usage/models"),
        await read(rig, "/v1/usage?by=model&then=provider&top=1000&compare=none&bucket=none"),
      );
    }));

  it("refuses another choice, and parameters that a list of models does not have", () =>
    withUsage(async (rig) => {
      for (const query of ["models=some", "as=anthropic/claude-haiku-4-5", "by=project", "bucket=day"])
        assert.equal((await rig.ask(`/v1/usage/models?${query}`)).status, 400, query);
    }));
});

describe("GET /v1/usage/comparison", () => {
  const AS = "as=anthropic/claude-haiku-4-5";

  it("estimates what the period would have cost on another model, as the page and its file state it", () =>
    withUsage(async (rig) => {
      const answer = await read<ModelComparisonAnswer>(rig, `/v1/usage/comparison?${AS}`);
      assert.deepEqual(parseWire(modelComparisonSchema, answer), { ok: true, value: answer });
      assert.deepEqual([answer.as.provider, answer.as.model], ["anthropic", "claude-haiku-4-5"]);
      assert.ok(answer.models.length > 0 && answer.compared.models > 0);
      assert.deepEqual(await read(rig, `/models?${AS}&format=json`), answer);
      const page = await (await rig.ask(`/models?${AS}`)).text();
      assert.match(page, /\/v1\/usage\/comparison\?as=anthropic%2Fclaude-haiku-4-5/);
      const filtered = await read<ModelComparisonAnswer>(rig, `/v1/usage/comparison?${AS}&project=none-such`);
      assert.deepEqual([filtered.models, filtered.compared.models], [[], 0]);
    }));

  it("refuses a model without a price, and parameters that a comparison does not have", () =>
    withUsage(async (rig) => {
      for (const query of ["", "?as=", "?as=gpt", "?as=x/none", `?${AS}&by=project`, `?${AS}&bucket=day`]) {
        const answer = await rig.ask(`/v1/usage/comparison${query}`);
        assert.equal(answer.status, 400, query);
        assert.match(
          await answer.text(),
          query.includes("&") ? /There is no such parameter/ : /model with a price/,
        );
      }
    }));

  it("loads no prices for a file of the usage itself", () =>
    withUsage(async (rig) => {
      const { prices } = rig.ports;
      let loaded = 0;
      Object.assign(rig.ports, {
        prices: () => {
          loaded += 1;
          return prices();
        },
      });
      assert.equal((await rig.ask("/models?format=csv")).status, 200);
      assert.equal(loaded, 0);
      assert.equal((await rig.ask(`/models?format=csv&${AS}`)).status, 200);
      assert.equal(loaded, 1);
    }));
});
