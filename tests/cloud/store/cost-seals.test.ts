import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import {
  headsOf,
  verifyWorkspaceLedgers,
  type WorkspaceHeads,
} from "../../../cloud/ledger/verify-ledgers.ts";
import { purgeAccountIn } from "../../../cloud/store/purge.ts";
import { verifyCosts } from "../../../cloud/store/reads/verify-costs.ts";
import { PERSONAL_REQUEST_COLUMNS } from "../../../cloud/store/request-columns.ts";
import { SEALED_COLUMNS, unpackLeaves } from "../../../core/privacy/ledger/cost-seals.ts";
import { batch, type CloudRig, createRig, json, record } from "../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../kit/engines.ts";

async function verify(rig: CloudRig, workspaceId: string, saved: WorkspaceHeads | null = null) {
  const verdict = await verifyWorkspaceLedgers(rig.db, workspaceId, saved, sha256);
  return { heads: headsOf(workspaceId, verdict), costs: verdict.costs };
}

/** Adds to a total by model, with a statement that a cluster takes: in an update, it refuses a time that is cut. */
const ADDED = `on conflict (workspace_id, span_hours, starts_at, project, git_branch, provider, model) do update set
  requests = usage_branches.requests + 1, unpriced_requests = usage_branches.unpriced_requests + 1`;

/** A workspace with three batches of two requests, the last of which fills in one of the first; and the heads after it. */
async function open(rig: CloudRig) {
  const workspace = await rig.addWorkspace();
  const ids = Array.from({ length: 4 }, () => rig.uuid());
  const [first = "", second = "", third = "", fourth = ""] = ids;
  const used = { prompt_tokens: 1_000, completion_tokens: 10, tokens_complete: true };
  for (const records of [
    [record(first), record(second, used)],
    [record(third, used), record(fourth, used)],
    [record(first, { ...used, project: "Späti" })],
  ]) {
    const answer = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records)));
    assert.deepEqual(answer.rejected, []);
  }
  const { heads, costs } = await verify(rig, workspace.id);
  assert.ok(costs.ok && costs.head.seq === 3 && costs.outsideChain === 0, JSON.stringify(costs));
  return { id: workspace.id, first, second, third, heads: heads ?? assert.fail() };
}

describeOnOneEngine("verifyCosts()", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e9 } } });
  });
  after(() => rig.close());

  it("finds every change that someone with all rights can make to costs and totals", async () => {
    const rows: [what: string, statements: string[], withoutHead: string | null, withHead: string][] = [
      [
        "a cost",
        ["update requests set cost_pico_usd = 1 where request_id = SECOND"],
        "cost_changed 1",
        "cost_changed 1",
      ],
      [
        "a filled cost",
        ["update requests set cost_pico_usd = 1 where request_id = FIRST"],
        "cost_changed 3",
        "cost_changed 3",
      ],
      [
        "the user of a request",
        ["update requests set user_id = 'eve' where request_id = THIRD"],
        "cost_changed 2",
        "cost_changed 2",
      ],
      [
        "a fill-in undone",
        ["update requests set cost_seal = null where request_id = FIRST"],
        "cost_changed 1",
        "cost_changed 1",
      ],
      [
        "a cost that names a seal that does not exist",
        ["update requests set cost_seal = 9, cost_pico_usd = 1 where request_id = THIRD"],
        "cost_changed 2",
        "cost_changed 2",
      ],
      [
        "a cost that names a seal of other requests",
        ["update requests set cost_seal = 3, cost_pico_usd = 1 where request_id = THIRD"],
        "cost_changed 2",
        "cost_changed 2",
      ],
      [
        "a request deleted",
        ["delete from requests where request_id = THIRD"],
        "request_missing 2",
        "request_missing 2",
      ],
      [
        "a total of an hour",
        ["update usage_hourly set cost_pico_usd = cost_pico_usd + 1 where WS"],
        "totals_differ 0",
        "totals_differ 0",
      ],
      [
        "a total of a day",
        ["update usage_daily set requests = requests - 1 where WS"],
        "totals_differ 0",
        "totals_differ 0",
      ],
      ["a total removed", ["delete from usage_daily where WS"], "totals_differ 0", "totals_differ 0"],
      [
        "a seal's digests",
        [
          "update cost_seals set leaves = set_byte(leaves, 20, 0) where seq = 2 and WS",
          "update cost_seals set leaves = set_byte(leaves, 21, 0) where seq = 2 and WS",
        ],
        "row_changed 2",
        "row_changed 2",
      ],
      [
        "a seal's digests erased in a workspace that exists",
        ["update cost_seals set leaves = null, erased_at = now() where seq = 2 and WS"],
        "row_changed 2",
        "row_changed 2",
      ],
      [
        "a seal deleted",
        ["delete from cost_seals where seq = 2 and WS"],
        "out_of_sequence 2",
        "out_of_sequence 2",
      ],
      ["the tail cut", ["delete from cost_seals where seq = 3 and WS"], "tail_cut 3", "tail_cut 3"],
      [
        "all seals",
        [
          "delete from cost_seals where WS",
          "delete from cost_seal_heads where WS",
          "update requests set cost_seal = null where WS",
        ],
        null,
        "tail_cut 1",
      ],
      [
        "a request added, with its totals",
        [
          "insert into requests (workspace_id, request_id, requested_at, received_at, clock_skewed, user_id, provider, model, cost_source) select workspace_id, gen_random_uuid(), requested_at, received_at, false, 'eve', provider, model, 'unpriced' from requests where request_id = SECOND",
          "insert into usage_hourly (workspace_id, hour, machine_id, user_id, project, provider, model, requests, unpriced_requests) select workspace_id, date_trunc('hour', requested_at, 'UTC'), '00000000-0000-0000-0000-000000000000', 'eve', '', provider, model, 1, 1 from requests where request_id = SECOND",
          "insert into usage_daily (workspace_id, day, machine_id, user_id, project, provider, model, requests, unpriced_requests) select workspace_id, (requested_at at time zone 'UTC')::date, '00000000-0000-0000-0000-000000000000', 'eve', '', provider, model, 1, 1 from requests where request_id = SECOND",
          "insert into usage_branches (workspace_id, span_hours, starts_at, project, git_branch, provider, model, requests, unpriced_requests) select workspace_id, -1, date_trunc('hour', requested_at, 'UTC'), '', '', provider, model, 1, 1 from requests where request_id = SECOND ADDED",
          "insert into usage_branches (workspace_id, span_hours, starts_at, project, git_branch, provider, model, requests, unpriced_requests) select workspace_id, -24, date_trunc('day', requested_at, 'UTC'), '', '', provider, model, 1, 1 from requests where request_id = SECOND ADDED",
        ],
        null,
        "outside_chain 0",
      ],
    ];
    for (const [what, statements, withoutHead, withHead] of rows) {
      const { id, first, second, third, heads } = await open(rig);
      for (const statement of statements) {
        const text = statement
          .replace("WS", `workspace_id = '${id}'`)
          .replace("ADDED", ADDED)
          .replace("FIRST", `'${first}'`)
          .replace("SECOND", `'${second}'`)
          .replace("THIRD", `'${third}'`);
        await sql.raw(text).execute(rig.db);
      }
      const faultOf = async (saved: WorkspaceHeads | null) => {
        const { costs } = await verify(rig, id, saved);
        return costs.ok ? null : `${costs.fault} ${costs.seq}`;
      };
      assert.equal(await faultOf(null), withoutHead, what);
      assert.equal(await faultOf(heads), withHead, what);
    }
  });

  it("names the request that differs", async () => {
    for (const statement of [
      "update requests set cost_pico_usd = 1 where request_id = 'ID'",
      "update requests set cost_seal = 9 where request_id = 'ID'",
      "delete from requests where request_id = 'ID'",
    ]) {
      const { id, third } = await open(rig);
      await sql.raw(statement.replace("ID", third)).execute(rig.db);
      const { costs } = await verify(rig, id);
      assert.equal(costs.ok ? null : costs.detail, `request ${third}`, statement);
    }
  });

  it("names the total that differs: sums, table, time and key", async () => {
    for (const [statement, detail] of [
      [
        "update usage_hourly set cost_pico_usd = cost_pico_usd + 1, requests = requests + 1 where WS",
        /^requests, cost_pico_usd in usage_hourly at 2026-\d\d-\d\dT\d\d:00:00Z: machine [0-9a-f-]{36}, user \S+, project "[^"]*", \S+\/\S+$/,
      ],
      [
        "delete from usage_daily where WS",
        /^requests, .*cost_pico_usd.* in usage_daily at 2026-\d\d-\d\d: machine /,
      ],
      [
        "update usage_daily set day = day - 400 where WS",
        /^requests, .* in usage_daily at 2025-\d\d-\d\d: machine /,
      ],
    ] as const) {
      const { id } = await open(rig);
      await sql.raw(statement.replace("WS", `workspace_id = '${id}'`)).execute(rig.db);
      const { costs } = await verify(rig, id);
      assert.match(costs.ok ? "" : (costs.detail ?? ""), detail, statement);
    }
  });

  it("compares the totals of every day, and those by branch and by model where there are any", async () => {
    const workspace = await rig.addWorkspace();
    const days = ["2026-07-01", "2026-07-02", "2026-07-31", "2026-08-02", "2026-11-20"];
    const records = days.map((day) => record(rig.uuid(), { requested_at: `${day}T23:30:00.000Z` }));
    const sent = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records)));
    assert.equal(sent.accepted, days.length, JSON.stringify(sent));
    const run = async (statement: string) =>
      await sql.raw(statement.replace("WS", `workspace_id = '${workspace.id}'`)).execute(rig.db);
    const detail = async () => {
      const { costs } = await verify(rig, workspace.id);
      return costs.ok ? null : costs.detail;
    };
    // Citus refuses the date of a time in an update: it depends on the time zone.
    const ofDay = (time: string, day: string) =>
      `${time} >= '${day}T00:00:00Z' and ${time} < '${new Date(Date.parse(day) + 86_400_000).toISOString()}'`;
    // As of a day that is not summed up by branch yet.
    await run(
      `delete from usage_branches where WS and span_hours > 0 and ${ofDay("starts_at", "2026-07-02")}`,
    );
    assert.equal(await detail(), null);
    for (const day of days) {
      for (const [table, time, rows] of [
        ["usage_hourly", "hour", ""],
        ["usage_daily", "day", ""],
        ["usage_branches", "starts_at", "and span_hours = 1"],
        ["usage_branches", "starts_at", "and span_hours = -1"],
        ["usage_branches", "starts_at", "and span_hours = -24"],
      ] as const) {
        const of = `where WS and ${table === "usage_daily" ? `day = '${day}'` : ofDay(time, day)}`;
        const only = `${of} ${rows}`;
        await run(`update ${table} set requests = requests + 1 ${only}`);
        const isUnsummed = rows === "and span_hours = 1" && day === "2026-07-02";
        const found = (await detail()) ?? "";
        assert.equal(found.startsWith(`requests in ${table} at ${day}`), !isUnsummed, `${day} ${found}`);
        await run(`update ${table} set requests = requests - 1 ${only}`);
      }
    }
    assert.equal(await detail(), null);
    // As of requests that a process of the previous version stored.
    await run("update cost_seal_heads set summed_seq = null where WS");
    await run("update usage_branches set requests = requests + 1 where WS and span_hours < 0");
    assert.equal(await detail(), null);
  });

  it("accepts the rows of a purged account", async () => {
    const { id, second, heads } = await open(rig);
    const { user_id: userId } = await rig.db
      .updateTable("requests")
      .set({ prompt_hash: "ab", source_workdir: "/home/ann", method: "POST", path: "/v1" })
      .where("request_id", "=", second)
      .returning("user_id")
      .executeTakeFirstOrThrow();
    await rig.db
      .insertInto("account_deletions")
      .values({ user_id: userId, deleted_at: 0, purged_at: null, closed_at: null })
      .execute();
    let step = await purgeAccountIn(rig.db, userId, id, Date.now());
    while (step.kind === "more") step = await purgeAccountIn(rig.db, userId, id, Date.now());
    assert.equal(step.kind, "done");
    const purged = await rig.db
      .selectFrom("requests")
      .select(PERSONAL_REQUEST_COLUMNS)
      .where("request_id", "=", second)
      .executeTakeFirst();
    assert.deepEqual(
      Object.values(purged ?? {}),
      PERSONAL_REQUEST_COLUMNS.map(() => null),
    );
    const { costs } = await verify(rig, id, heads);
    assert.ok(costs.ok, JSON.stringify(costs));
  });

  it("finds in each seal what its batch added, by id, and no seal of a batch that adds nothing", async () => {
    const workspace = await rig.addWorkspace();
    const [a, b, c, d] = Array.from({ length: 4 }, () => rig.uuid()).sort() as [
      string,
      string,
      string,
      string,
    ];
    const send = async (...ids: string[]) =>
      await json(
        rig.call("POST", "/v1/requests/batch", workspace.token, batch(...ids.map((id) => record(id)))),
      );
    const counts = [await send(b, a), await send(d, a.toUpperCase(), c, c), await send(a, d)];
    assert.deepEqual(
      counts.map(({ accepted, duplicates }) => [accepted, duplicates]),
      [
        [2, 0],
        [2, 2],
        [0, 2],
      ],
    );
    const { costs } = await verify(rig, workspace.id);
    assert.ok(costs.ok && costs.head.seq === 2 && costs.outsideChain === 0, JSON.stringify(costs));
    const { rows } = await sql<{ leaves: Uint8Array }>`
      select leaves from cost_seals where workspace_id = ${workspace.id}::uuid order by seq`.execute(rig.db);
    assert.deepEqual(
      rows.map(({ leaves }) => unpackLeaves(leaves).map(({ request_id }) => request_id)),
      [
        [a, b],
        [c, d],
      ],
    );
  });

  it("accepts what is stored and filled in between its pages", async () => {
    const workspace = await rig.addWorkspace();
    const ids = Array.from({ length: 20 }, () => rig.uuid());
    const send = async (id: string, fields = {}) =>
      await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(id, fields))));
    for (const id of ids) await send(id);
    const verifying = verifyCosts(rig.db, workspace.id, null, sha256);
    for (const id of ids) {
      await send(id, { prompt_tokens: 1_000, completion_tokens: 10, tokens_complete: true });
      await send(rig.uuid());
    }
    const { verdict, outsideChain } = await verifying;
    assert.ok(verdict.ok, JSON.stringify(verdict));
    assert.equal(outsideChain, 0);
    const { costs } = await verify(rig, workspace.id);
    assert.ok(costs.ok && costs.head.seq === 60 && costs.outsideChain === 0, JSON.stringify(costs));
  });

  // PostgreSQL has other connections for other work.
  const onPglite = engine.name === "pglite";
  it("lets other work on the embedded database run between its pages", { skip: !onPglite }, async () => {
    const { id } = await open(rig);
    const verifying = verifyCosts(rig.db, id, null, sha256).then(() => "verified");
    const asked = sql`select 1`.execute(rig.db).then(() => "answered");
    assert.equal(await Promise.race([verifying, asked]), "answered");
    await verifying;
  });
});

describe("SEALED_COLUMNS", () => {
  it("has no column that the purge erases from a request that stays", () => {
    const sealed: readonly string[] = SEALED_COLUMNS;
    assert.deepEqual(
      PERSONAL_REQUEST_COLUMNS.filter((column) => sealed.includes(column)),
      [],
    );
  });
});

describeOnPostgres("the seals of parallel batches", (engine) => {
  it("hold every request once, in one chain", async (test) => {
    const rig = await createRig(engine, {
      config: { rateLimits: { perKey: 1e9 } },
      database: { maxConnections: 8 },
    });
    test.after(() => rig.close());
    const workspace = await rig.addWorkspace();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () =>
        rig.call(
          "POST",
          "/v1/requests/batch",
          workspace.token,
          batch(record(rig.uuid()), record(rig.uuid())),
        ),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const { costs } = await verify(rig, workspace.id);
    assert.ok(costs.ok && costs.head.seq === 30 && costs.outsideChain === 0);
  });
});
