import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { BillingMode, CostSource, RequestRecord } from "../../../core/values/record.ts";
import { BILLING_MODES } from "../../../core/values/record-fields.ts";
import { parseWire } from "../../../core/wire/parse.ts";
import { type SavingsAnswer, savingsAnswerSchema } from "../../../core/wire/savings.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { openApi } from "../../daemon/api/api.rig.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
  UNLIMITED,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A request as both sides receive it. Its counts are above 0: the cloud's sums do not tell 0 from an unknown count. */
interface Sent {
  readonly ago: number;
  readonly provider: "anthropic" | "openai";
  readonly model: "claude-sonnet-4-5" | "gpt-4o" | "unheard-of";
  readonly project: string | null;
  readonly prompt: string;
  readonly failed: boolean;
  readonly tokens: readonly [read: number | null, written: number | null];
  readonly billing: BillingMode | null;
}

const aRequest: fc.Arbitrary<Sent> = fc.record({
  ago: fc.oneof(
    fc.integer({ min: 1, max: 40 * 24 }).map((hours) => hours * HOUR),
    fc.integer({ min: 1, max: 2 * DAY }),
  ),
  provider: fc.constantFrom("anthropic" as const, "openai" as const),
  model: fc.constantFrom("claude-sonnet-4-5" as const, "gpt-4o" as const, "unheard-of" as const),
  project: fc.constantFrom("docs", "shop", `<b>"'&`, null),
  prompt: fc.constantFrom("1", "2", "3").map((digit) => digit.repeat(64)),
  failed: fc.boolean(),
  tokens: fc.tuple(fc.constantFrom(null, 900, 90_000), fc.constantFrom(null, 800, 80_000)),
  billing: fc.constantFrom("metered" as const, "metered" as const, ...BILLING_MODES, null),
});

const QUERIES = [
  "period=30d&tz=UTC",
  "period=7d&tz=America/New_York&model.not=unheard-of",
  "period=30d&tz=UTC&project=docs&bucket=week",
  "period=today&tz=UTC",
  "period=7d&tz=Asia/Kathmandu&status=ok",
  "period=30d&tz=UTC&billing=metered&project=",
] as const;

/** The text of a page below its filters. */
const textOf = (page: string) =>
  page
    .slice(page.indexOf('<div id="summary"'), page.indexOf("</main>"))
    .replaceAll(/<section class="tools".*?<\/section>/gs, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");

describeOnOneEngine("savings", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  async function open(plan: "solo" | "business" = "business") {
    const workspace = await rig.addWorkspace({ plan });
    const session = await rig.sessionFor(workspace.userId);
    return {
      workspace,
      get: (query: string) => rig.call("GET", `/v1/workspaces/${workspace.id}/savings?${query}`, session),
      page: async (query: string) => {
        const path = `/w/${workspace.id}/savings?${query}`;
        const answer = await rig.main("GET", path, undefined, { cookie: `session=${session}` });
        assert.equal(answer.status, 200, query);
        return await answer.text();
      },
    };
  }

  /** Sends requests, and returns the daemon's records of them with the costs that the cloud has computed. */
  async function send(workspace: TestWorkspace, requests: readonly Sent[]): Promise<RequestRecord[]> {
    const wire = requests.map((sent) =>
      record(rig.uuid(), {
        requested_at: new Date(START - sent.ago).toISOString(),
        ...{ provider: sent.provider, model: sent.model, project: sent.project, prompt_hash: sent.prompt },
        ...{ http_status: sent.failed ? 500 : 200, error_class: sent.failed ? "server_error" : null },
        ...{ prompt_tokens: 700, completion_tokens: 50, request_kind: "chat", tokens_complete: true },
        ...{ cache_read_tokens: sent.tokens[0], cache_write_tokens: sent.tokens[1] },
        billing_mode: sent.billing,
      }),
    );
    const answer = await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...wire));
    assert.equal(answer.status, 200, await answer.clone().text());
    const rows = await rig.db
      .selectFrom("requests")
      .select(["request_id", "cost_pico_usd", "cost_source"])
      .where("workspace_id", "=", workspace.id)
      .execute();
    const costs = new Map(rows.map((row) => [row.request_id, row]));
    return requests.map((sent, at) => {
      const requestId = `${wire[at]?.request_id}`;
      const { cost_pico_usd = null, cost_source = "" } = costs.get(requestId) ?? {};
      return sampleRecord({
        requestId,
        requestedAt: START - sent.ago,
        ...{ provider: sent.provider, model: sent.model, project: sent.project ?? "" },
        ...{ httpStatus: sent.failed ? 500 : 200, errorClass: sent.failed ? "server_error" : null },
        tokens: {
          promptTokens: 700,
          cacheReadTokens: sent.tokens[0],
          cacheWriteTokens: sent.tokens[1],
          cacheWrite1hTokens: null,
          completionTokens: 50,
          thinkingTokens: null,
        },
        ...{ promptHash: sent.prompt, billingMode: sent.billing },
        costPicoUsd: cost_pico_usd === null ? null : BigInt(cost_pico_usd),
        costSource: cost_source as CostSource,
      });
    });
  }

  it("have the same text and figures on both hosts for the same requests", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aRequest, { minLength: 1, maxLength: 40, size: "max" }), async (requests) => {
        const { workspace, get, page } = await open();
        const records = await send(workspace, requests);
        const local = await openApi({ clock: createManualClock(START) });
        try {
          // Both know the coverage of the machine.
          const hour = Math.floor((START - HOUR) / HOUR) * HOUR;
          const [metered, at] = [records.length, new Date(hour).toISOString()];
          const counted = { hour: at, metered, seen: metered, counts: [{ kind: "metered", count: metered }] };
          const stated = {
            ...{ daemon_version: "1", as_of: new Date(START).toISOString() },
            ...{ hours: [counted], runs: [] },
          };
          const upload = await rig.call("POST", "/v1/daemon/coverage", workspace.token, stated);
          assert.equal(upload.status, 200);
          local.store.insertBatch({
            records,
            bodies: [],
            coverage: [{ at: hour, host: "api.example.com", kind: "metered", count: metered }],
          });
          for (const query of QUERIES) {
            const here = (await (await local.ask(`/v1/savings?${query}`)).json()) as SavingsAnswer;
            const there = (await json(get(query))) as SavingsAnswer;
            assert.deepEqual(parseWire(savingsAnswerSchema, there), { ok: true, value: there }, query);
            assert.deepEqual(there, here, query);
            const savedByBuckets = there.buckets.map((each) => BigInt(each.saved_pico_usd));
            assert.equal(
              there.cache.saved_pico_usd,
              savedByBuckets.reduce((sum, each) => sum + each, 0n).toString(),
            );
            const shown = await (await local.ask(`/savings?${query}`)).text();
            assert.equal(textOf(await page(query)), textOf(shown), query);
            assert.doesNotMatch(shown, /<b>|NaN|undefined/);
          }
        } finally {
          local.close();
        }
      }),
      // Without shrinking, which would send hundreds of batches.
      { numRuns: propertyRuns(engine.name === "pglite" ? 4 : 6), endOnFailure: true },
    );
  });

  it("lead from each finding to its requests, and are exported", async () => {
    const { workspace, get, page } = await open();
    const sent = {
      ago: HOUR,
      provider: "anthropic",
      model: "claude-sonnet-4-5",
      prompt: "1".repeat(64),
    } as const;
    const more = { project: "shop", failed: false, billing: "metered", tokens: [null, 5_000] } as const;
    await send(workspace, [
      { ...sent, ...more },
      { ...sent, ...more, ago: 2 * HOUR },
    ]);
    const text = await page("period=7d");
    const href =
      /href="(\/w\/[^"]+\/requests\?[^"]+)">2</.exec(text)?.[1]?.replaceAll("&amp;", "&") ??
      assert.fail(text);
    assert.equal(
      href,
      `/w/${workspace.id}/requests?period=7d&project=shop&model=claude-sonnet-4-5&provider=anthropic`,
    );
    const session = await rig.sessionFor(workspace.userId);
    const headers = { cookie: `session=${session}` };
    assert.match(await (await rig.main("GET", href, undefined, headers)).text(), />2 of 2 requests/);
    const answer = (await json(get("period=7d&tz=UTC"))) as SavingsAnswer;
    assert.deepEqual(
      answer.findings.map(({ kind, requests, saving_pico_usd }) => [kind, requests, saving_pico_usd]),
      [
        ["repeated_prompt", 1, "21600000000"],
        // 10,000 tokens at 0.75 USD per million more than fresh input.
        ["cache_written_unread", 2, "7500000000"],
      ],
    );
    assert.equal(answer.cache.saved_pico_usd, "-7500000000");
    assert.match(text, /−<data value="0\.0075">\$0\.0075<\/data>/);
    assert.match(await page("period=7d&format=csv"), /^kind,provider,.*\r\nrepeated_prompt,anthropic,/);
    assert.deepEqual(parseWire(savingsAnswerSchema, JSON.parse(await page("period=7d&format=json"))), {
      ok: true,
      value: answer,
    });
    const curl = /\/v1\/workspaces\/[^/]+\/savings\?[^'&#"]*/.exec(text)?.[0] ?? assert.fail(text);
    const { cache, buckets, findings } = (await json(rig.call("GET", curl, session))) as SavingsAnswer;
    assert.deepEqual([cache, buckets, findings.length], [answer.cache, answer.buckets, 2]);
  });

  it("cover the plan's days, and name the parameters that they do not accept", async () => {
    const solo = await open("solo");
    const answer = (await json(solo.get("period=12m&tz=UTC"))) as SavingsAnswer;
    assert.equal(answer.period.from, new Date(START - 90 * DAY).toISOString());
    assert.equal(answer.clamped_from, "2025-12-01T00:00:00.000Z");
    assert.match(await solo.page("period=12m"), /the period begins at 2026-08-23T12:00:00\.000Z/);
    assert.match(await solo.page("by=model&colour=red"), /has no “by”.*|“colour” is left out/);
    for (const query of ["by=model", "compare=prev", "top=3", "then=project", "metric=tokens", "projcet=a"])
      assert.equal((await solo.get(query)).status, 422, query);
    assert.equal((await solo.get("period=90d&status=ok")).status, 422);
  });
});
