import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import type { Plan } from "../../../../core/values/plan.ts";
import { encodeBase64Url } from "../../../../core/wire/base64.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { traceSchema, tracesSchema } from "../../../../core/wire/traces.ts";
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

describeOnOneEngine("the lists of requests", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  const pathOf = ({ id }: TestWorkspace, path: string) => `/v1/workspaces/${id}/${path}`;
  async function open(plan: Plan = "business") {
    const workspace = await rig.addWorkspace({ plan });
    return { workspace, session: await rig.sessionFor(workspace.userId) };
  }
  const send = (workspace: TestWorkspace, ...records: Record<string, unknown>[]) =>
    rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));
  const at = (time: number, fields = {}) => record(rig.uuid(), { requested_at: iso(time), ...fields });

  it("show a request as sent, with the cloud's additional fields", async () => {
    const { workspace, session } = await open();
    const sent = {
      requested_model: "gpt-4o",
      request_kind: "chat",
      streaming: true,
      prompt_tokens: 1_000,
      completion_tokens: 10,
      cache_read_tokens: 3,
      cache_write_tokens: 0,
      cache_write_1h_tokens: 0,
      thinking_tokens: 0,
      tokens_complete: true,
      provider_cost_pico_usd: null,
      service_tier: "default",
      usage_extras: { audio_input_tokens: 0 },
      latency_ms: 900,
      ttfb_ms: 100,
      http_status: 200,
      error_class: null,
      provider_error_code: null,
      retryable: null,
      blocked_by: null,
      project: "docs",
      attribution_tier: "git_root",
      session_id: "5e".repeat(16),
      session_source: "stated",
      turn_id: "70".repeat(16),
      agent_id: "a9".repeat(16),
      parent_agent_id: "9a".repeat(16),
      agent_kind: "review",
      client_version: "2.1.240",
      git_branch: "main",
      git_commit: "c0".repeat(20),
      git_remote: "github.com/acme/shop",
      pull_request: 7,
      record_source: "logs",
      prompt_hash: "a".repeat(64),
      prompt_hash_kind: "plain",
      method: "POST",
      path: "/v1/chat/completions",
      source_workdir: "/home/ann",
    };
    const requestId = await sendRequest(rig, workspace, {
      ...sent,
      cost_pico_usd: "77",
      cost_source: "computed",
    });
    const trace = await json(
      rig.call("GET", pathOf(workspace, `traces/${requestId.toUpperCase()}`), session),
    );
    assert.ok(parseWire(traceSchema, trace).ok);
    assert.deepEqual(trace, {
      ...sent,
      request_id: requestId,
      requested_at: "2026-11-21T11:59:00.000Z",
      received_at: iso(START),
      clock_skewed: false,
      user: { id: workspace.userId, name: "Ann" },
      machine: { id: workspace.machineId, hostname: "laptop" },
      provider: "openai",
      model: "gpt-4o",
      cost_pico_usd: String(1_000n * 2_500_000n + 10n * 10_000_000n + 3n * 1_250_000n),
      cost_source: "computed",
      rates_source: "bundled",
      reported_cost_pico_usd: "77",
      // The record has none.
      billing_mode: "unknown",
    });
    const list = await json(rig.call("GET", pathOf(workspace, "traces"), session));
    assert.ok(parseWire(tracesSchema, list).ok);
    assert.equal(list.items.length, 1);
    const fields = new Map(Object.entries(trace));
    for (const [field, value] of Object.entries(list.items[0]))
      assert.deepEqual(value, fields.get(field), field);
    assert.equal(list.items[0].prompt_hash, undefined);
    assert.equal(list.items[0].billing_mode, "unknown");
  });

  it("answer 404 for a request of another workspace, for one below the floor and for no id at all", async () => {
    const { workspace, session } = await open("solo");
    const other = await open("solo");
    const foreign = await sendRequest(rig, other.workspace);
    const floor = START - 7 * DAY;
    const oldest = await sendRequest(rig, workspace, { requested_at: iso(floor) });
    const below = await sendRequest(rig, workspace, { requested_at: iso(floor - 1) });
    const statuses = new Map<string, number>();
    for (const id of [oldest, below, foreign, rig.uuid(), "x", "%00"]) {
      statuses.set(id, (await rig.call("GET", pathOf(workspace, `traces/${id}`), session)).status);
    }
    assert.deepEqual([...statuses.values()], [200, 404, 404, 404, 404, 404]);
  });

  it("check the period against the plan's window, the retention and the calendar", async () => {
    const rows: [
      plan: Plan,
      path: string,
      query: string,
      status: number,
      code: string | null,
      facts?: object,
    ][] = [];
    for (const [plan, days] of [
      ["solo", 7],
      ["team", 30],
      ["business", 30],
      ["enterprise", 30],
    ] as const) {
      const floor = START - days * DAY;
      rows.push(
        [
          plan,
          "traces",
          `from=${iso(floor)}`,
          200,
          null,
          { from: iso(floor), to: iso(START), clamped_from: null },
        ],
        [plan, "traces", `from=${iso(floor + 1)}`, 200, null],
        [plan, "traces", `from=${iso(floor - 1)}`, 400, "period_before_floor", { floor: iso(floor) }],
        [plan, "traces", "", 200, null, { from: iso(floor), to: iso(START) }],
      );
    }
    const year = START - 365 * DAY;
    rows.push(
      ["team", "audit/requests", "", 403, "plan_required", { required_plan: "business" }],
      ["solo", "audit/events", "", 403, "plan_required"],
      ["team", "audit/prompt-views", "", 403, "plan_required"],
      ["business", "audit/requests", `from=${iso(year)}`, 200, null, { from: iso(year), clamped_from: null }],
      [
        "business",
        "audit/requests",
        `from=${iso(year - 1)}`,
        200,
        null,
        { from: iso(year), clamped_from: iso(year - 1) },
      ],
      [
        "business",
        "audit/requests",
        "from=2026-11-19&to=2026-11-20",
        200,
        null,
        { to: "2026-11-20T00:00:00.000Z" },
      ],
      [
        "business",
        "traces",
        "from=2026-11-20T00:00:00%2B14:00",
        200,
        null,
        { from: "2026-11-19T10:00:00.000Z" },
      ],
      ["business", "traces", "from=2026-11-20&to=2026-11-19", 422, "period_reversed"],
      ["business", "traces", "from=2026-02-29", 422, "period_malformed"],
      ["business", "traces", "to=tomorrow", 422, "period_malformed"],
      ["business", "traces", "status=fine", 422, "wrong_shape"],
      ["business", "traces", "limit=0", 422, "wrong_shape"],
      ["business", "traces", "limit=201", 422, "wrong_shape"],
      ["business", "traces", "cursor=x", 400, "cursor_invalid"],
      ["business", "traces", `cursor=${"x".repeat(513)}`, 422, "wrong_shape"],
      ["business", "traces", "project=%00", 422, "wrong_shape"],
    );
    const sessions = new Map<Plan, Awaited<ReturnType<typeof open>>>();
    for (const [plan, path, query, status, code, facts = {}] of rows) {
      let actor = sessions.get(plan);
      if (actor === undefined) {
        const { workspace } = await open(plan);
        actor = { workspace, session: (await rig.personIn(workspace, "workspaceAdmin")).token };
        sessions.set(plan, actor);
      }
      const answer = await rig.call("GET", `${pathOf(actor.workspace, path)}?${query}`, actor.session);
      const body = await json(answer);
      assert.equal(answer.status, status, `${plan} ${path}?${query}`);
      if (code !== null) assert.equal(body.code, code, query);
      for (const [field, value] of Object.entries(facts)) assert.equal(body[field], value, query);
    }
  });

  it("filter by each parameter, an empty project for none", async () => {
    const { workspace, session } = await open();
    const colleague = await rig.addPerson("Ben");
    await rig.addMember(workspace, colleague);
    const token = await rig.addKey(workspace, {
      userId: colleague,
      machineId: await rig.addMachine(workspace),
    });
    const plain = await sendRequest(rig, workspace, { http_status: 200 });
    const docs = await sendRequest(rig, workspace, { project: "docs", http_status: 404 });
    const late = await sendRequest(rig, workspace, { error_class: "timeout", model: "gpt-5" });
    const bens = await sendRequest(rig, workspace, { provider: "anthropic" }, token);
    const early = await sendRequest(rig, workspace, { requested_at: iso(START - 3 * DAY) });
    const refused = await sendRequest(rig, workspace, { project: "capped", blocked_by: "cap" });
    const list = async (query: string) =>
      (await json(rig.call("GET", `${pathOf(workspace, "traces")}?${query}`, session))).items
        .map(({ request_id }: { request_id: string }) => request_id)
        .sort();
    assert.deepEqual(await list("project=docs"), [docs]);
    assert.deepEqual(await list("project="), [plain, late, bens, early].sort());
    assert.deepEqual(await list("status=blocked"), [refused]);
    assert.deepEqual(await list("status=ok"), [plain, bens, early].sort());
    assert.deepEqual(await list("status=failed"), [docs, late].sort());
    assert.deepEqual(await list("status=404"), [docs]);
    assert.deepEqual(await list("model=gpt-5"), [late]);
    assert.deepEqual(await list("provider=anthropic"), [bens]);
    assert.deepEqual(await list(`user=${colleague}`), [bens]);
    assert.deepEqual(await list("from=2026-11-18&to=2026-11-19"), [early]);
    assert.deepEqual(await list("project=docs&status=ok"), []);
    assert.deepEqual(await list("project=docs%27%20or%201=1--"), []);
  });

  // Planted: `<=` instead of `<` in the comparison with the cursor.
  it("page through all requests once, in order, even while new ones arrive", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        async (offsets, limit) => {
          const { workspace, session } = await open();
          // Few different times: most are shared.
          const records = offsets.map((offset) => at(START - DAY - offset * 1_000));
          await send(workspace, ...records);
          const seen: string[] = [];
          for (let cursor: string | null = ""; cursor !== null; ) {
            const query = `limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`;
            const page = await json(rig.call("GET", `${pathOf(workspace, "traces")}?${query}`, session));
            for (const { request_id } of page.items) seen.push(request_id);
            cursor = page.next_cursor;
            await send(workspace, at(START - 1_000));
          }
          const expected = records
            .toSorted((one, other) => (key(one) < key(other) ? 1 : -1))
            .map(({ request_id }) => request_id);
          assert.deepEqual(seen, expected);
        },
      ),
      { numRuns: 10 },
    );
  });

  it("reject a cursor that was changed, or that belongs to another workspace, query or list", async () => {
    const { workspace, session } = await open();
    const other = await open();
    for (const { workspace: each } of [{ workspace }, other]) await send(each, at(START - 5), at(START - 4));
    const first = async (of: typeof other, path: string) =>
      (await json(rig.call("GET", `${pathOf(of.workspace, path)}limit=1`, of.session))).next_cursor as string;
    const mine = { workspace, session };
    const cursor = await first(mine, "traces?");
    const status = async (of: typeof other, path: string, with_: string) =>
      (await rig.call("GET", `${pathOf(of.workspace, path)}cursor=${with_}`, of.session)).status;
    assert.equal(await status(mine, "traces?", cursor), 200);
    assert.equal(await status(other, "traces?", cursor), 400);
    assert.equal(await status(mine, "traces?project=x&", cursor), 400);
    assert.equal(await status(mine, "audit/requests?", cursor), 400);
    for (let index = 0; index < cursor.length; index += 1) {
      const changed = cursor.slice(0, index) + (cursor[index] === "A" ? "B" : "A") + cursor.slice(index + 1);
      assert.equal(await status(mine, "traces?", changed), 400, String(index));
    }
    assert.equal(await status(mine, "traces?", encodeBase64Url(new Uint8Array(60))), 400);
    // The page size is not part of the query.
    assert.equal(await status(mine, "traces?limit=7&", cursor), 200);
  });
});

const key = ({ requested_at, request_id }: Record<string, unknown>) => `${requested_at} ${request_id}`;
