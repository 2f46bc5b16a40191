import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { MAX_HOURLY_PERIOD_MS, MAX_UNSUMMED_PERIOD_MS } from "../../../../cloud/routes/reads/reports.ts";
import { ANALYTICS_MAX_GROUPS, OVERVIEW_MAX_GROUPS } from "../../../../cloud/store/reads/usage-reports.ts";
import type { Plan } from "../../../../core/values/plan.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { analyticsSchema, optimisationSchema, overviewSchema } from "../../../../core/wire/reports.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
  UNLIMITED,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { sendRequest } from "../../kit/stored-body.ts";

const DAY = 86_400_000;
const iso = (at: number) => new Date(at).toISOString();

describeOnOneEngine("overview, analytics and optimisation", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  async function open(plan: Plan = "team") {
    const workspace = await rig.addWorkspace({ plan });
    return { workspace, session: await rig.sessionFor(workspace.userId) };
  }
  type Opened = Awaited<ReturnType<typeof open>>;
  const get = ({ workspace, session }: Opened, path: string, token: string | null = session) =>
    rig.call("GET", `/v1/workspaces/${workspace.id}/${path}`, token);
  const send = (workspace: TestWorkspace, ...records: Record<string, unknown>[]) =>
    rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));

  it("apply the retention floor: overview and optimisation move the period, analytics reject it", async () => {
    const year = START - 365 * DAY;
    const quarter = START - 90 * DAY;
    const month = START - 30 * DAY;
    const rows: [plan: Plan, query: string, status: number, facts: Record<string, unknown>][] = [
      ["team", "overview?", 200, { from: iso(month), to: iso(START), clamped_from: null }],
      ["team", `overview?from=${iso(year)}`, 200, { from: iso(year), clamped_from: null }],
      ["team", `overview?from=${iso(year - 1)}`, 200, { from: iso(year), clamped_from: iso(year - 1) }],
      ["team", `overview?from=2001-01-01&to=2001-02-01`, 200, { from: iso(year), to: iso(year) }],
      ["team", "analytics?by=model", 200, { from: iso(month), to: iso(START), clamped_from: null }],
      ["team", `analytics?by=model&from=${iso(year)}`, 200, { from: iso(year), bucket: "day" }],
      [
        "team",
        `analytics?by=model&from=${iso(year - 1)}`,
        400,
        { code: "period_before_floor", floor: iso(year) },
      ],
      ["team", "optimisation?", 200, { from: iso(quarter), clamped_from: null }],
      ["team", `optimisation?from=${iso(quarter - 1)}`, 200, { from: iso(quarter - 1), clamped_from: null }],
      [
        "solo",
        `optimisation?from=${iso(quarter - 1)}`,
        200,
        { from: iso(quarter), clamped_from: iso(quarter - 1) },
      ],
      ["team", `optimisation?from=${iso(year - 1)}`, 200, { from: iso(year), clamped_from: iso(year - 1) }],
      ["team", "overview?from=2026-11-20&to=2026-11-19", 422, { code: "period_reversed" }],
      ["team", "overview?from=yesterday", 422, { code: "period_malformed" }],
      ["team", "analytics?", 422, { code: "wrong_shape" }],
      ["team", "analytics?by=colour", 422, { code: "wrong_shape" }],
      ["team", "analytics?by=model&bucket=week", 422, { code: "wrong_shape" }],
      [
        "team",
        `analytics?by=model&bucket=hour&from=${iso(START - MAX_HOURLY_PERIOD_MS)}`,
        200,
        { bucket: "hour" },
      ],
      [
        "team",
        `analytics?by=model&bucket=hour&from=${iso(START - MAX_HOURLY_PERIOD_MS - 1)}`,
        422,
        { code: "period_too_long" },
      ],
    ];
    const opened = { solo: await open("solo"), team: await open("team") };
    for (const [plan, query, status, facts] of rows) {
      const answer = await get(opened[plan as "solo" | "team"], query);
      const body = await json(answer);
      assert.equal(answer.status, status, `${query} ${JSON.stringify(body)}`);
      for (const [field, value] of Object.entries(facts)) assert.equal(body[field], value, query);
    }
  });

  it("answer only members of the workspace", async () => {
    const opened = await open();
    const stranger = (await rig.personIn(opened.workspace, "stranger")).token;
    const organisationMember = (await rig.personIn(opened.workspace, "organisationMember")).token;
    for (const path of ["overview", "analytics?by=model", "optimisation", "traces", "audit/requests"]) {
      assert.equal((await get(opened, path, null)).status, 401, path);
      assert.equal((await get(opened, path, opened.workspace.token)).status, 403, path);
      assert.equal((await get(opened, path, stranger)).status, 404, path);
      assert.equal((await get(opened, path, organisationMember)).status, 404, path);
    }
    await rig.db
      .updateTable("workspaces")
      .set({ deleted_at: START })
      .where("workspace_id", "=", opened.workspace.id)
      .execute();
    assert.equal((await get(opened, "overview")).status, 404);
  });

  it("show zero for unused groups, and name people and machines", async () => {
    const opened = await open();
    const { workspace } = opened;
    const none = await json(get(opened, "overview"));
    assert.ok(parseWire(overviewSchema, none).ok);
    assert.equal(none.totals.requests, 0);
    assert.equal(none.totals.cost_pico_usd, "0");
    assert.deepEqual([none.days, none.projects, none.models], [[], [], []]);
    await sendRequest(rig, workspace);
    await sendRequest(rig, workspace, {}, await rig.addKey(workspace, { scope: "admin" }));
    const labels = async (by: string) => {
      const answer = await json(get(opened, `analytics?by=${by}`));
      assert.ok(parseWire(analyticsSchema, answer).ok);
      return answer.groups.map(({ key, label }: { key: string; label: string }) => [key, label]).sort();
    };
    assert.deepEqual(
      await labels("machine"),
      [
        [null, "no machine"],
        [workspace.machineId, "laptop"],
      ].sort(),
    );
    assert.deepEqual(await labels("user"), [[workspace.userId, "Ann"]]);
    assert.deepEqual(await labels("project"), [[null, "no project"]]);
    assert.deepEqual(await labels("provider"), [["openai", "openai"]]);
  });

  it("group by what only requests have, for at most a month", async () => {
    const opened = await open();
    const [first, second] = ["5e".repeat(16), "ab".repeat(16)];
    const used = { prompt_tokens: 1_000, completion_tokens: 0, request_kind: "chat" };
    await send(
      opened.workspace,
      record(rig.uuid(), { ...used, session_id: first, git_branch: "main", client_version: "2.1.240" }),
      record(rig.uuid(), { ...used, session_id: first, agent_id: second }),
      record(rig.uuid(), { ...used, session_id: second, requested_at: iso(START - 3 * DAY) }),
      record(rig.uuid(), { ...used, requested_at: iso(START - 40 * DAY) }),
      record(rig.uuid(), used),
    );
    const groups = async (by: string, period = "") => {
      const answer = await json(get(opened, `analytics?by=${by}${period}`));
      assert.ok(parseWire(analyticsSchema, answer).ok, by);
      assert.equal(
        answer.totals.cost_pico_usd,
        answer.groups
          .reduce((sum: bigint, each: { cost_pico_usd: string }) => sum + BigInt(each.cost_pico_usd), 0n)
          .toString(),
      );
      return answer.groups.map(
        (each: { key: string; label: string; requests: number; buckets: unknown[] }) => [
          each.key,
          each.label,
          each.requests,
          each.buckets.length,
        ],
      );
    };
    assert.deepEqual(await groups("session"), [
      [first, first, 2, 1],
      [second, second, 1, 1],
      [null, "no session", 1, 1],
    ]);
    assert.deepEqual(await groups("session", `&bucket=hour&from=${iso(START - DAY)}`), [
      [first, first, 2, 1],
      [null, "no session", 1, 1],
    ]);
    assert.deepEqual(await groups("agent"), [
      [null, "no sub-agent", 3, 2],
      [second, second, 1, 1],
    ]);
    assert.deepEqual(await groups("branch"), [
      [null, "no branch", 3, 2],
      ["main", "main", 1, 1],
    ]);
    assert.deepEqual(await groups("client"), [
      [null, "no client version", 3, 2],
      ["2.1.240", "2.1.240", 1, 1],
    ]);
    for (const by of ["session", "agent", "branch", "client"]) {
      const long = await get(opened, `analytics?by=${by}&from=${iso(START - MAX_UNSUMMED_PERIOD_MS - 1)}`);
      assert.deepEqual([long.status, (await json(long)).code], [422, "period_too_long"]);
    }
    assert.deepEqual(await groups("session", `&from=${iso(START)}&to=${iso(START)}`), []);
  });

  it("show only the most expensive groups, but count all", async () => {
    const opened = await open();
    const count = ANALYTICS_MAX_GROUPS + 5;
    const records = Array.from({ length: count }, (_, index) =>
      record(rig.uuid(), {
        project: `p${index}`,
        prompt_tokens: index,
        completion_tokens: 0,
        request_kind: "chat",
      }),
    );
    await send(opened.workspace, ...records);
    const overview = await json(get(opened, "overview"));
    assert.equal(overview.totals.requests, count);
    assert.equal(overview.projects.length, OVERVIEW_MAX_GROUPS);
    const analytics = await json(get(opened, "analytics?by=project"));
    assert.equal(analytics.totals.requests, count);
    assert.equal(analytics.groups.length, ANALYTICS_MAX_GROUPS);
    assert.deepEqual([analytics.groups[0].key, analytics.groups.at(-1).key], [`p${count - 1}`, "p5"]);
    assert.ok(analytics.groups.every(({ buckets }: { buckets: unknown[] }) => buckets.length === 1));
  });

  it("name the models without a price on the cloud, most requests first", async () => {
    const opened = await open();
    const models = async () => {
      const overview = await json(get(opened, "overview"));
      assert.ok(parseWire(overviewSchema, overview).ok);
      return overview.unpriced_models;
    };
    const asked = { prompt_tokens: 10, completion_tokens: 1, request_kind: "chat" };
    await send(opened.workspace, record(rig.uuid(), asked));
    assert.deepEqual(await models(), []);
    const dear = Array.from({ length: 25 }, (_, n) =>
      record(rig.uuid(), { ...asked, model: "gpt-4o", project: `p${n}`, prompt_tokens: 1_000_000 }),
    );
    const one = { ...asked, provider: "acme", model: "one" };
    const two = { ...asked, provider: "acme", model: "two" };
    const unstated = { ...asked, prompt_tokens: null, completion_tokens: null, request_kind: "other" };
    await send(
      opened.workspace,
      ...dear,
      record(rig.uuid(), two),
      ...[1, 2].map(() => record(rig.uuid(), one)),
      // Tokens are missing, or more than the rate is.
      record(rig.uuid(), { ...unstated, model: "gpt-4.1" }),
      record(rig.uuid(), { ...unstated, provider: "acme", model: "unstated" }),
      record(rig.uuid(), { ...asked, service_tier: "no-such-tier" }),
    );
    assert.deepEqual(await models(), [
      { provider: "acme", model: "one", requests: 2 },
      { provider: "acme", model: "two", requests: 1 },
    ]);
  });

  it("find repeated prompts of this workspace, without failed requests", async () => {
    const opened = await open();
    const other = await open();
    const asked = {
      prompt_hash: "a".repeat(64),
      prompt_tokens: 1_000,
      completion_tokens: 0,
      request_kind: "chat",
      billing_mode: "metered",
    };
    for (const { workspace } of [opened, other]) {
      await send(
        workspace,
        ...[1, 2, 3].map(() => record(rig.uuid(), asked)),
        record(rig.uuid(), { ...asked, http_status: 500 }),
        record(rig.uuid(), { ...asked, prompt_hash: "b".repeat(64) }),
        record(rig.uuid(), { ...asked, prompt_hash: null }),
        record(rig.uuid(), { ...asked, project: "docs" }),
      );
    }
    const answer = await json(get(opened, "optimisation"));
    assert.ok(parseWire(optimisationSchema, answer).ok);
    const cost = String(2n * 1_000n * 2_500_000n);
    assert.deepEqual(answer.findings, [
      {
        kind: "repeated_prompt",
        provider: "openai",
        model: "gpt-4o",
        project: null,
        requests: 2,
        cost_pico_usd: cost,
        unknown_billing_pico_usd: "0",
        saving_pico_usd: cost,
        summary:
          "2 requests repeated an earlier prompt word for word; cached responses would have saved their cost.",
      },
    ]);
  });

  it("compute the savings of caches from the rollups, at published rates", async () => {
    const opened = await open();
    const written = {
      provider: "anthropic",
      model: "claude-haiku-4-5",
      cache_write_tokens: 1_000_000,
      billing_mode: "metered",
    };
    await send(opened.workspace, record(rig.uuid(), { ...written, requested_at: iso(START - 40 * DAY) }));
    const { findings } = await json(get(opened, "optimisation"));
    // $1.25 instead of $1 per million tokens, and none of them read from the cache.
    assert.deepEqual(
      findings.map(({ kind, saving_pico_usd }: Record<string, unknown>) => [kind, saving_pico_usd]),
      [["cache_written_unread", "250000000000"]],
    );
  });

  it("leave plan usage out of the cost of a finding, and state no saving where it can't be told apart", async () => {
    const opened = await open();
    const written = {
      provider: "anthropic",
      model: "claude-haiku-4-5",
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_write_tokens: 1_000_000,
      request_kind: "chat",
    };
    await send(
      opened.workspace,
      record(rig.uuid(), { ...written, billing_mode: "metered" }),
      record(rig.uuid(), { ...written, billing_mode: "plan" }),
      record(rig.uuid(), { ...written, model: "claude-sonnet-4-5", billing_mode: "plan" }),
    );
    const { findings } = await json(get(opened, "optimisation"));
    assert.deepEqual(
      findings.map(({ kind, model, cost_pico_usd, saving_pico_usd }: Record<string, unknown>) => [
        kind,
        model,
        cost_pico_usd,
        saving_pico_usd,
      ]),
      [["cache_written_unread", "claude-haiku-4-5", "1250000000000", null]],
    );
  });

  it("count only what was spent as a saving of repeated prompts, and calls with unknown billing apart", async () => {
    const opened = await open();
    const asked = {
      prompt_hash: "c".repeat(64),
      prompt_tokens: 1_000,
      completion_tokens: 0,
      request_kind: "chat",
    };
    const modes = ["metered", "metered", "credits", "unknown", null, "plan"];
    const asks = modes.map((billing_mode, index) =>
      record(rig.uuid(), { ...asked, billing_mode, requested_at: iso(START - DAY + index) }),
    );
    await send(opened.workspace, ...asks);
    const { findings } = await json(get(opened, "optimisation"));
    const one = 1_000n * 2_500_000n;
    assert.deepEqual(
      findings.map((found: Record<string, unknown>) => [
        found.requests,
        found.cost_pico_usd,
        found.unknown_billing_pico_usd,
        found.saving_pico_usd,
      ]),
      [[4, String(2n * one), String(2n * one), String(2n * one)]],
    );
  });
});
