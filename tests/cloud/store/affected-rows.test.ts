import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { runPurge } from "../../../cloud/purge/run-purge.ts";
import { expectRows, updateOne } from "../../../cloud/store/affected-rows.ts";
import { leaveAllOrganisations } from "../../../cloud/store/deletions.ts";
import { DISTRIBUTED_TABLES } from "../../../cloud/store/distribute.ts";
import { PURGE_DELAY_MS } from "../../../core/privacy/deletion/soft-deletion.ts";
import { hashText } from "../../../core/values/hash-text.ts";
import {
  type CloudRig,
  createRig,
  json,
  record,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type Losses, losingEngine } from "../kit/losing-engine.ts";
import { sendBody } from "../kit/stored-body.ts";

const conflict = { name: "DatabaseError", reason: "conflict" };

describe("expectRows()", () => {
  it("accepts the expected number, as a driver states it", () => {
    expectRows(2n, 2);
    expectRows(0, 0);
    expectRows(undefined, 0);
  });

  it("throws a conflict for fewer rows, and for more", () => {
    for (const affected of [0, 1n, 3, undefined]) assert.throws(() => expectRows(affected, 2), conflict);
  });
});

describe("updateOne()", () => {
  const update = (numUpdatedRows: bigint) => ({ executeTakeFirst: async () => ({ numUpdatedRows }) });

  it("throws a conflict unless the update changes one row", async () => {
    await updateOne(update(1n));
    await assert.rejects(updateOne(update(0n)), conflict);
  });
});

/** The tables whose rows a client is told about. A write to another one may affect no row, such as the last use of a key. */
const WRITES =
  /^\s*(?:insert into|update) "?(requests|usage_hourly|usage_daily|cost_seal_heads|cost_seals|request_bodies|request_body_versions|audit_event_heads|audit_events|prompt_view_heads|prompt_views|prompt_view_tickets|workspaces|machines|memberships)\b/;

/** A write to a table of a workspace. A cluster can lose only those. */
const IN_WORKSPACE = new RegExp(
  `^\\s*(?:insert into|update|delete from) "?(?:${DISTRIBUTED_TABLES.join("|")})\\b`,
);

/** A workspace, its owner, and the ids of three requests. */
interface Subject {
  readonly workspace: TestWorkspace;
  readonly admin: TestPerson;
  readonly ids: readonly string[];
}

type Call = (rig: CloudRig, subject: Subject) => Promise<Response>;

const sendRecords =
  (fields: Record<string, unknown>): Call =>
  (rig, { workspace, ids }) => {
    const records = ids.map((id) => record(id, { prompt_tokens: 7, ...fields }));
    return rig.call("POST", "/v1/requests/batch", workspace.token, { daemon_version: "0.4.0", records });
  };

const sendText =
  (text: string): Call =>
  (rig, { workspace, ids }) =>
    sendBody(rig, workspace, ids[0] ?? "", text);

/** Calls that write, in an order in which each has what it needs. */
const CALLS: readonly (readonly [what: string, Call])[] = [
  ["new records", sendRecords({})],
  ["the same records, with more columns", sendRecords({ completion_tokens: 3, project: "web" })],
  ["a body", sendText("first")],
  ["another version of the body", sendText("second")],
  [
    "a changed setting",
    (rig, { workspace, admin }) =>
      rig.call("PATCH", `/v1/workspaces/${workspace.id}/settings`, admin.token, {
        reporting_zone: "Europe/Berlin",
      }),
  ],
  [
    "a renamed machine",
    (rig, { workspace, admin }) =>
      rig.call("PATCH", `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`, admin.token, {
        name: "desk",
      }),
  ],
  [
    "a blocked machine",
    (rig, { workspace, admin }) =>
      rig.call("POST", `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}/block`, admin.token),
  ],
];

/** The state that the calls lead to. */
async function stateOf({ db }: CloudRig, { workspace: { id }, ids }: Subject): Promise<unknown> {
  const inWorkspace = sql`where workspace_id = ${id}::uuid`;
  const { rows } = await sql`select
    (select count(*) from requests ${inWorkspace} and completion_tokens = 3 and project = 'web') as requests,
    (select sum(requests) from usage_hourly ${inWorkspace}) as by_hour,
    (select sum(completion_tokens) from usage_daily ${inWorkspace}) as output,
    (select request_content_sha256 from request_bodies ${inWorkspace} and request_id = ${ids[0] ?? ""}) as body,
    (select count(*) from request_body_versions ${inWorkspace}) as versions,
    (select reporting_zone from workspaces ${inWorkspace}) as zone,
    (select concat(label, ' ', blocked_at is not null) from machines ${inWorkspace}) as machine,
    (select string_agg(kind, ' ' order by seq) from audit_events ${inWorkspace}) as events`.execute(db);
  const verdict = await verifyWorkspaceLedgers(db, id, null, sha256);
  return { ...(rows[0] as object), verified: verdict.ok };
}

const EXPECTED = {
  requests: "3",
  by_hour: "3",
  output: "9",
  body: hashText("second", sha256),
  versions: "1",
  zone: "Europe/Berlin",
  machine: "desk t",
  events: "body_replaced settings_changed machine_renamed machine_blocked",
  verified: true,
};

describeOnOneEngine("a write that affects no row, without an error", (engine) => {
  const losses: Losses = { loses: () => false };
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(losingEngine(engine, losses), {
      config: { rateLimits: { perKey: 1e6 } },
    });
  });
  after(() => rig.close());

  async function subject(): Promise<Subject> {
    losses.loses = () => false;
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    return { workspace, admin, ids: [rig.uuid(), rig.uuid(), rig.uuid()] };
  }

  /** Makes all calls, each again after a 503, and loses the write of that number. Returns how many writes there were. */
  async function makeCalls(who: Subject, lost: number): Promise<number> {
    let writes = 0;
    losses.loses = (statement) => WRITES.test(statement) && writes++ === lost;
    for (const [what, call] of CALLS) {
      let answer = await call(rig, who);
      if (answer.status === 503) {
        assert.equal(answer.headers.get("retry-after"), "5");
        answer = await call(rig, who);
      }
      assert.ok(answer.ok, `write ${lost}, ${what}: ${answer.status} ${await answer.text()}`);
    }
    losses.loses = () => false;
    return writes;
  }

  it("is made again, and everything is stored exactly once, whichever write it is", async () => {
    const clean = await subject();
    const writes = await makeCalls(clean, -1);
    assert.deepEqual(await stateOf(rig, clean), EXPECTED);
    assert.ok(writes >= 20, `${writes} writes`);
    for (let lost = 0; lost < writes; lost += 1) {
      const who = await subject();
      await makeCalls(who, lost);
      assert.deepEqual(await stateOf(rig, who), EXPECTED, `write ${lost}`);
    }
  });

  for (const table of ["requests", "usage_hourly", "usage_daily", "cost_seal_heads", "cost_seals"]) {
    it(`is never acknowledged: 503 while all writes to ${table} are lost, and nothing is stored`, async () => {
      const who = await subject();
      losses.loses = (statement) => WRITES.exec(statement)?.[1] === table;
      const answer = await sendRecords({})(rig, who);
      losses.loses = () => false;
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get("retry-after"), "5");
      const { rows } = await sql<{ n: string }>`
        select count(*) as n from requests where workspace_id = ${who.workspace.id}::uuid`.execute(rig.db);
      assert.equal(rows[0]?.n, "0");
      assert.equal((await json(sendRecords({})(rig, who))).accepted, 3);
    });
  }

  it("is found when a person leaves and is purged: no key, membership or text remains, whichever write it is", async () => {
    const lose = async (lost: number) => {
      const who = await subject();
      const { userId } = await rig.personIn(who.workspace, "member");
      const now = rig.clock.now();
      await rig.addKey(who.workspace, { scope: "admin", userId });
      const token = await rig.addKey(who.workspace, {
        userId,
        machineId: await rig.addMachine(who.workspace),
      });
      await sendRecords({ path: "/canary-left" })(rig, { ...who, workspace: { ...who.workspace, token } });
      let writes = 0;
      losses.loses = (statement) => IN_WORKSPACE.test(statement) && writes++ === lost;
      assert.ok((await leaveAllOrganisations(rig.db, userId, now)).ok);
      rig.clock.advance(PURGE_DELAY_MS);
      const report = await runPurge(rig.parts);
      losses.loses = () => false;
      assert.ok(report.erased.some(({ id }) => id === userId));
      const ofPerson = sql`where workspace_id = ${who.workspace.id}::uuid and user_id = ${userId}`;
      const { rows } = await sql`select
        (select count(*)::integer from sync_keys ${ofPerson}) as keys,
        (select count(*)::integer from memberships ${ofPerson}) as memberships,
        (select count(*)::integer from requests ${ofPerson} and path is not null) as paths,
        (select count(*)::integer from requests ${ofPerson}) as requests,
        (select string_agg(kind, ' ') from audit_events where workspace_id = ${who.workspace.id}::uuid) as events`.execute(
        rig.db,
      );
      const expected = { keys: 0, memberships: 0, paths: 0, requests: 3, events: "member_removed" };
      assert.deepEqual(rows, [expected], `write ${lost}`);
      return writes;
    };
    const writes = await lose(-1);
    assert.ok(writes >= 12, `${writes} writes`);
    for (let lost = 0; lost < writes; lost += 1) await lose(lost);
  });
});
