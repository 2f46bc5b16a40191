import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import { batchResponseSchema } from "../../../../core/wire/metadata-batch.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { batch, type CloudRig, createRig, json, record } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../../kit/engines.ts";

const PATH = "/v1/requests/batch";

/** A rollup recomputed from the rows, to compare with the stored one. */
async function rollupFaults({ db }: CloudRig, workspaceId: string): Promise<unknown[]> {
  const sums = [
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "thinking_tokens",
  ];
  const made = sql.raw(`select project, model, count(*) as requests,
    count(*) filter (where cost_pico_usd is null and not (error_class is not null or coalesce(http_status, 0) >= 400)) as unpriced,
    ${sums.map((name) => `sum(coalesce(${name}, 0))::numeric as ${name}`).join(", ")},
    sum(coalesce(cost_pico_usd, 0)) as cost, sum(coalesce(reported_cost_pico_usd, 0)) as reported
    from (select *, coalesce(project, '') as p from requests where workspace_id = '${workspaceId}') r
    group by project, model`);
  const kept = (table: string) =>
    sql.raw(`select nullif(project, ''), model, sum(requests) as requests, sum(unpriced_requests) as unpriced,
    ${sums.map((name) => `sum(${name}) as ${name}`).join(", ")},
    sum(cost_pico_usd) as cost, sum(reported_cost_pico_usd) as reported
    from ${table} where workspace_id = '${workspaceId}' group by project, model having sum(requests) <> 0`);
  const faults: unknown[] = [];
  for (const table of ["usage_hourly", "usage_daily"]) {
    const { rows } =
      await sql`(${made} except ${kept(table)}) union all (${kept(table)} except ${made})`.execute(db);
    faults.push(...rows);
  }
  return faults;
}

describeOnOneEngine("POST /v1/requests/batch", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e6 } } });
  });
  after(() => rig.close());

  const rowsOf = async (workspaceId: string) =>
    await rig.db.selectFrom("requests").selectAll().where("workspace_id", "=", workspaceId).execute();

  it("stores a record once, with the key's machine and user and the cloud's own cost beside the daemon's", async () => {
    const workspace = await rig.addWorkspace();
    const id = rig.uuid();
    const sent = batch(
      record(id, {
        prompt_tokens: 1000,
        completion_tokens: 100,
        cost_pico_usd: "77",
        cost_usd_minor_units: 0,
        tokens_complete: true,
        usage_extras: { web_search_requests: 0 },
        project: "shop",
        // The sender cannot set any of these.
        workspace_id: rig.uuid(),
        user_id: "mallory",
        received_at: "2001-01-01T00:00:00Z",
        clock_skewed: true,
      }),
    );
    const answer = await rig.call("POST", PATH, workspace.token, sent);
    assert.equal(answer.status, 200);
    const outcome = await json(answer);
    assert.deepEqual(outcome, { accepted: 1, duplicates: 0, rejected: [] });
    assert.ok(parseWire(batchResponseSchema, outcome).ok);
    const [row, ...others] = await rowsOf(workspace.id);
    assert.deepEqual(others, []);
    assert.equal(row?.machine_id, workspace.machineId);
    assert.equal(row?.user_id, workspace.userId);
    assert.equal(row?.received_at, rig.clock.now());
    assert.equal(row?.clock_skewed, false);
    // gpt-4o: 2.50 and 10.00 USD per million.
    assert.equal(row?.cost_pico_usd, String(1000 * 2_500_000 + 100 * 10_000_000));
    assert.equal(row?.cost_source, "computed");
    assert.equal(row?.reported_cost_pico_usd, "77");
    assert.deepEqual(row?.usage_extras, { web_search_requests: 0 });
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
  });

  it("stores every field that a daemon states, at once or later", async () => {
    const [workspace, later] = [await rig.addWorkspace(), await rig.addWorkspace()];
    const asked = {
      requested_model: "gpt-4o-latest",
      request_kind: "chat",
      streaming: true,
      billing_mode: "plan",
      service_tier: "flex",
      usage_extras: { audio_input_tokens: 0 },
      http_status: 529,
      error_class: "server_error",
      provider_error_code: "overloaded",
      retryable: true,
      blocked_by: "day",
      project: "shop",
      attribution_tier: "header",
      prompt_hash: "ab".repeat(32),
      prompt_hash_kind: "keyed",
      method: "POST",
      path: "/v1/chat/completions",
      source_workdir: "/home/ann/shop",
      session_id: "01".repeat(16),
      session_source: "stated",
      turn_id: "02".repeat(16),
      agent_id: "03".repeat(16),
      parent_agent_id: "04".repeat(16),
      agent_kind: "review",
      client_version: "1.2.3",
      git_branch: "main",
      git_commit: "ab".repeat(20),
      git_remote: "github.com/acme/shop",
      record_source: "wire",
      tokens_complete: false,
    };
    const counts = {
      prompt_tokens: 11,
      completion_tokens: 12,
      cache_read_tokens: 13,
      cache_write_tokens: 14,
      cache_write_1h_tokens: 5,
      thinking_tokens: 16,
      latency_ms: 2_000,
      ttfb_ms: 300,
      pull_request: 7,
    };
    const costs = { cost_pico_usd: "77", cost_source: "estimated", rates_source: "operator" };
    const sent = record(rig.uuid(), {
      ...asked,
      ...counts,
      ...costs,
      cost_usd_minor_units: 0,
      provider_cost_pico_usd: "88",
    });
    await rig.call("POST", PATH, workspace.token, batch(sent));
    await rig.call("POST", PATH, later.token, batch(record(String(sent.request_id))));
    await rig.call("POST", PATH, later.token, batch(sent));
    const [row] = await rowsOf(workspace.id);
    const [filled] = await rowsOf(later.id);
    const { id: workspace_id, machineId: machine_id, userId: user_id } = workspace;
    // The two differ: one of them was filled in under its own seal.
    assert.deepEqual({ ...filled, workspace_id, machine_id, user_id, cost_seal: null }, row);
    // A workspace of its own, because other tests count in theirs.
    const { cost_pico_usd: _, cost_source: __, rates_source: ___, cost_seal: ____, ...stored } = row ?? {};
    assert.deepEqual(stored, {
      ...asked,
      ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, String(value)])),
      workspace_id: workspace.id,
      request_id: sent.request_id,
      requested_at: Date.UTC(2026, 10, 21, 11, 59),
      received_at: rig.clock.now(),
      clock_skewed: false,
      machine_id: workspace.machineId,
      user_id: workspace.userId,
      provider: "openai",
      model: "gpt-4o",
      reported_cost_pico_usd: "77",
      reported_cost_source: "estimated",
      reported_rates_source: "operator",
      provider_cost_pico_usd: "88",
    });
  });

  it("counts a record sent again, in the same batch or later, as a duplicate", async () => {
    const workspace = await rig.addWorkspace();
    const [one, other] = [rig.uuid(), rig.uuid()];
    const first = batch(
      record(one, { prompt_tokens: 5 }),
      record(one.toUpperCase(), { prompt_tokens: 5 }),
      record(other),
    );
    assert.deepEqual(await json(rig.call("POST", PATH, workspace.token, first)), {
      accepted: 2,
      duplicates: 1,
      rejected: [],
    });
    assert.deepEqual(await json(rig.call("POST", PATH, workspace.token, first)), {
      accepted: 0,
      duplicates: 3,
      rejected: [],
    });
    assert.equal((await rowsOf(workspace.id)).length, 2);
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
  });

  it("fills in what was null, prices what could not be priced, and moves the totals by the difference", async () => {
    const workspace = await rig.addWorkspace();
    const id = rig.uuid();
    await rig.call("POST", PATH, workspace.token, batch(record(id, { prompt_tokens: 10, latency_ms: 7 })));
    const [before] = await rowsOf(workspace.id);
    assert.equal(before?.cost_source, "unpriced");
    const later = record(id, {
      prompt_tokens: 999,
      completion_tokens: 4,
      latency_ms: 9,
      project: "shop",
      model: "gpt-5",
      requested_at: "2020-01-01T00:00:00Z",
    });
    assert.equal((await json(rig.call("POST", PATH, workspace.token, batch(later)))).duplicates, 1);
    const [row] = await rowsOf(workspace.id);
    assert.equal(row?.prompt_tokens, "10");
    assert.equal(row?.completion_tokens, "4");
    assert.equal(row?.latency_ms, "7");
    assert.equal(row?.model, "gpt-4o");
    assert.equal(row?.project, "shop");
    assert.equal(row?.cost_pico_usd, String(10 * 2_500_000 + 4 * 10_000_000));
    assert.equal(row?.requested_at, before?.requested_at);
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
  });

  it("keeps the kind of a prompt's hash with its hash, even where the other form comes later", async () => {
    const workspace = await rig.addWorkspace();
    const [plain, keyed] = ["a".repeat(64), "b".repeat(64)];
    const send = async (id: string, fields: Record<string, unknown>) => {
      await rig.call("POST", PATH, workspace.token, batch(record(id, fields)));
      const row = (await rowsOf(workspace.id)).find((each) => each.request_id === id);
      return [row?.prompt_hash, row?.prompt_hash_kind];
    };
    const [older, empty, same] = [rig.uuid(), rig.uuid(), rig.uuid()];
    const keyedFields = { prompt_hash: keyed, prompt_hash_kind: "keyed" };
    assert.deepEqual(await send(older, { prompt_hash: plain }), [plain, null]);
    assert.deepEqual(await send(older, keyedFields), [plain, null]);
    assert.deepEqual(await send(older, { prompt_hash: plain, prompt_hash_kind: "plain" }), [plain, "plain"]);
    assert.deepEqual(await send(empty, {}), [null, null]);
    assert.deepEqual(await send(empty, keyedFields), [keyed, "keyed"]);
    assert.deepEqual(await send(same, keyedFields), [keyed, "keyed"]);
  });

  it("lets only the sender of a record fill it in", async () => {
    const workspace = await rig.addWorkspace();
    await rig.addMember(workspace, "colleague");
    const machineId = await rig.addMachine(workspace);
    const colleague = await rig.addKey(workspace, { userId: "colleague", machineId });
    const id = rig.uuid();
    await rig.call("POST", PATH, workspace.token, batch(record(id)));
    const answer = await json(rig.call("POST", PATH, colleague, batch(record(id, { project: "theirs" }))));
    assert.deepEqual([answer.duplicates, answer.rejected[0]?.code], [0, "not_the_sender"]);
    const [row] = await rowsOf(workspace.id);
    assert.equal(row?.project, null);
    assert.equal(row?.user_id, workspace.userId);
  });

  it("stores one id from two workspaces as two rows", async () => {
    const [one, other] = [await rig.addWorkspace(), await rig.addWorkspace()];
    const id = rig.uuid();
    for (const { token } of [one, other]) {
      assert.equal((await json(rig.call("POST", PATH, token, batch(record(id))))).accepted, 1);
    }
    assert.equal((await rowsOf(one.id)).length, 1);
    assert.equal((await rowsOf(other.id)).length, 1);
  });

  it("rejects an invalid record with its id as sent, and stores the others", async () => {
    const workspace = await rig.addWorkspace();
    const wrong: [string, Record<string, unknown>, id?: string][] = [
      ["an id that is no UUID", {}, "request-1"],
      ["a U+0000", { project: "a\0b" }],
      ["half of a pair", { model: "gpt-\ud800" }],
      ["a negative count", { prompt_tokens: -1 }],
      ["a count beyond 2^53", { prompt_tokens: 2 ** 53 }],
      ["a fraction", { completion_tokens: 1.5 }],
      ["a cost of 23 digits", { cost_pico_usd: "1".repeat(23) }],
      ["a word of another vocabulary", { error_class: "overloaded" }],
      ["no time", { requested_at: "yesterday" }],
      ["a path of 3,000 characters", { path: "/".repeat(3000) }],
      ["no model", { model: undefined }],
    ];
    for (const [what, fields, id = rig.uuid().toUpperCase()] of wrong) {
      const answer = await json(
        rig.call("POST", PATH, workspace.token, batch(record(id, fields), record(rig.uuid()))),
      );
      assert.equal(answer.accepted, 1, what);
      assert.deepEqual(
        answer.rejected.map(({ request_id, code }: Record<string, string>) => [request_id, code]),
        [[id, "invalid_record"]],
        what,
      );
    }
  });

  it("stores the largest values that the schema allows, a thousand times in one hour", async () => {
    const workspace = await rig.addWorkspace();
    const extreme = {
      prompt_tokens: 2 ** 53 - 1,
      completion_tokens: 2 ** 53 - 1,
      cost_pico_usd: "9".repeat(22),
    };
    for (let round = 0; round < 3; round += 1) {
      const records = Array.from({ length: 500 }, () => record(rig.uuid(), extreme));
      assert.equal((await json(rig.call("POST", PATH, workspace.token, batch(...records)))).accepted, 500);
    }
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
  });

  it("stores times of any date, and flags those of a clock that is more than 23 hours ahead", async () => {
    const workspace = await rig.addWorkspace();
    const times: [string, boolean][] = [
      ["0001-01-01T00:00:00.000Z", false],
      ["1969-12-31T23:59:59.999Z", false],
      ["2026-11-22T11:00:00.000Z", false],
      ["2026-11-22T11:00:00.001Z", true],
      ["9999-12-31T23:59:59.999Z", true],
    ];
    const records = times.map(([requested_at]) => record(rig.uuid(), { requested_at }));
    assert.equal(
      (await json(rig.call("POST", PATH, workspace.token, batch(...records)))).accepted,
      times.length,
    );
    const rows = await rowsOf(workspace.id);
    for (const [time, skewed] of times) {
      const row = rows.find(({ requested_at }) => requested_at === Date.parse(time));
      assert.equal(row?.clock_skewed, skewed, time);
    }
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
  });

  it("prices an embedding that was sent without its kind", async () => {
    const workspace = await rig.addWorkspace();
    const sent = record(rig.uuid(), {
      model: "text-embedding-3-small",
      prompt_tokens: 100,
      tokens_complete: true,
    });
    await rig.call("POST", PATH, workspace.token, batch(sent));
    assert.equal((await rowsOf(workspace.id))[0]?.cost_pico_usd, String(100 * 20_000));
  });

  describe("refuses as a whole", () => {
    const refusals: [what: string, body: unknown, status: number, code: string][] = [
      ["no JSON", "{", 400, "not_json"],
      ["nothing", "", 400, "not_json"],
      ["JSON that nests 100,000 deep", "[".repeat(100_000), 400, "not_json"],
      ["a body that is not UTF-8", new Uint8Array([0x7b, 0xff]), 400, "invalid_utf8"],
      ["an array", "[]", 400, "not_an_object"],
      ["a text", '"x"', 400, "not_an_object"],
      ["an object of another shape", "{}", 422, "wrong_shape"],
      ["no records", { daemon_version: "0.4.0", records: [] }, 422, "wrong_shape"],
      [
        "501 records",
        batch(...Array.from({ length: 501 }, () => record(crypto.randomUUID()))),
        422,
        "wrong_shape",
      ],
      ["a record without an id", batch({ provider: "openai" }), 422, "wrong_shape"],
      ["an id without an end", batch(record("1".repeat(201))), 422, "wrong_shape"],
      ["more than 4 MiB", " ".repeat(4_194_305), 413, "too_large"],
    ];
    for (const [what, body, status, code] of refusals) {
      it(`${what}: ${status} ${code}`, async () => {
        const { token } = await rig.addWorkspace();
        const answer = await rig.call("POST", PATH, token, body);
        assert.equal(answer.status, status);
        assert.equal(answer.headers.get("content-type"), "application/problem+json");
        const said = await json(answer);
        assert.equal(said.code, code);
        assert.equal(said.status, status);
      });
    }

    it("a stream without a length, once it has passed 4 MiB", async () => {
      const { token } = await rig.addWorkspace();
      let sent = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
        },
      });
      const init = { method: "POST", headers: { authorization: `Bearer ${token}` }, body, duplex: "half" };
      const answer = await rig.app().request(PATH, init as RequestInit);
      assert.equal(answer.status, 413);
      assert.ok(sent < 5_000_000, `read ${sent} bytes`);
    });
  });

  it("keeps rollups equal to the rows, for any records in any order", async () => {
    const count = fc.option(fc.constantFrom(0, 1, 7), { nil: null });
    const sent = fc.record({
      id: fc.integer({ min: 0, max: 4 }),
      prompt_tokens: count,
      completion_tokens: count,
      project: fc.constantFrom(null, "a", "b"),
      cost_pico_usd: fc.constantFrom(null, "5"),
      requested_at: fc.constantFrom("2026-11-20T23:59:59.999Z", "2026-11-21T00:00:00.000Z"),
    });
    // Planted: leaving out the rows' former contributions (the requests with the sign -1), found within 5 runs.
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(sent, { minLength: 1, maxLength: 6 }), { maxLength: 4 }),
        async (batches) => {
          const workspace = await rig.addWorkspace();
          const ids = Array.from({ length: 5 }, () => rig.uuid());
          for (const some of batches) {
            const records = some.map(({ id, ...fields }) => record(ids[id] as string, fields));
            const answer = await json(rig.call("POST", PATH, workspace.token, batch(...records)));
            assert.equal(answer.accepted + answer.duplicates, records.length);
          }
          assert.deepEqual(await rollupFaults(rig, workspace.id), []);
        },
      ),
      { numRuns: 15 },
    );
  });
});

describeOnPostgres("POST /v1/requests/batch, in parallel", (engine) => {
  it("stores each record once and loses no total when batches overlap, in any order", async () => {
    const rig = await createRig(engine, { config: { rateLimits: { perKey: 1e6 } } });
    const workspace = await rig.addWorkspace();
    const ids = Array.from({ length: 60 }, () => rig.uuid());
    const sendings = Array.from({ length: 24 }, (_, round) => {
      const some = ids.filter((_, at) => (at + round) % 3 !== 0);
      const fields =
        round % 2 === 0 ? { prompt_tokens: 3 } : { prompt_tokens: 3, completion_tokens: 2, project: "p" };
      const ordered = round % 4 < 2 ? some : some.reverse();
      return batch(
        ...ordered.map((id, at) => record(id, { ...fields, model: at % 2 === 0 ? "gpt-4o" : "gpt-5" })),
      );
    });
    const answers = await Promise.all(
      sendings.map((sent) => json(rig.call("POST", PATH, workspace.token, sent))),
    );
    const accepted = answers.reduce((sum, answer) => sum + answer.accepted, 0);
    assert.equal(accepted, ids.length);
    assert.deepEqual(await rollupFaults(rig, workspace.id), []);
    await rig.close();
  });
});
