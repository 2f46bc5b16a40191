import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type RawBuilder, sql } from "kysely";
import { MAX_EMAILS } from "../../../cloud/limits/email-limit.ts";
import { MAX_WRONG_CODES } from "../../../cloud/limits/wrong-code-lock.ts";
import { MAX_WAITING_INVITATIONS } from "../../../cloud/store/invitations.ts";
import { MAX_OWNED_ORGANISATIONS, MAX_WORKSPACES } from "../../../cloud/store/organisations.ts";
import { MAX_FLEET_BUDGETS } from "../../../core/budgets/parse-fleet-budget.ts";
import { MAX_LIMIT_READINGS } from "../../../core/wire/limit-readings.ts";
import { MAX_SAVED_VIEWS } from "../../../core/wire/saved-views.ts";
import {
  type CloudRig,
  createRig,
  type TestPerson,
  type TestWorkspace,
  UNLIMITED,
} from "../kit/cloud-rig.ts";
import { describeOnPostgres } from "../kit/engines.ts";

/** Calls at once. */
const CALLS = 50;

/** How many more the limit allows before the calls. */
const ROOM = 10;

describeOnPostgres("limits on a number, with 50 calls at once", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let owner: TestPerson;
  before(async () => {
    rig = await createRig(engine, { config: { ...UNLIMITED, shareLimits: true } });
    workspace = await rig.addWorkspace({ plan: "team" });
    owner = await rig.personIn(workspace, "organisationOwner");
  });
  after(() => rig.close());

  const post = async (path: string, body: unknown, token = owner.token) =>
    (await rig.call("POST", path, token, body)).status;
  const inWorkspace = (path: string) => `/v1/workspaces/${workspace.id}/${path}`;
  const count = async (rows: RawBuilder<unknown>): Promise<number> =>
    Number((await sql<{ n: string }>`select count(*) as n from ${rows}`.execute(rig.db)).rows[0]?.n);
  /** Calls all at once, and counts the answers by their status. */
  const tally = async (call: (at: number) => Promise<number>) => {
    const counts: Record<number, number> = {};
    for (const status of await Promise.all(Array.from({ length: CALLS }, (_, at) => call(at))))
      counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  it("an account owns at most 20 organisations", async () => {
    const create = (at: number) => post("/v1/organisations", { name: `Organisation ${at}` });
    assert.deepEqual(await tally(create), { 201: MAX_OWNED_ORGANISATIONS - 1, 409: CALLS - 19 });
    const own = sql`organisation_members where user_id = ${owner.userId} and role = 'owner'`;
    assert.equal(await count(own), MAX_OWNED_ORGANISATIONS);
  });

  it("an organisation has at most 200 workspaces", async () => {
    const { organisationId } = workspace;
    const own = sql`workspace_directory where organisation_id = ${organisationId}::uuid`;
    await sql`insert into workspace_directory (workspace_id, organisation_id)
      select gen_random_uuid(), ${organisationId}::uuid
      from generate_series(1, ${MAX_WORKSPACES - ROOM - (await count(own))}::integer)`.execute(rig.db);
    const create = (at: number) =>
      post("/v1/workspaces", { organisation_id: organisationId, name: `Workspace ${at}` });
    assert.deepEqual(await tally(create), { 201: ROOM, 409: CALLS - ROOM });
    assert.equal(await count(own), MAX_WORKSPACES);
  });

  it("a workspace has at most 200 pending invitations", async () => {
    const now = rig.clock.now();
    await sql`insert into invitations
        (workspace_id, invitation_id, token_hash, email, role, invited_by, created_at, expires_at)
      select ${workspace.id}::uuid, gen_random_uuid(), sha256(n::text::bytea), 'a' || n || '@example.org', 'member',
        ${owner.userId}, ${now}::timestamptz, ${now + 86_400_000}::timestamptz
      from generate_series(1, ${MAX_WAITING_INVITATIONS - ROOM}::integer) as n`.execute(rig.db);
    const invite = (at: number) =>
      post(inWorkspace("invitations"), { email: `b${at}@example.org`, role: "member" });
    assert.deepEqual(await tally(invite), { 201: ROOM, 409: CALLS - ROOM });
    assert.equal(
      await count(sql`invitations where workspace_id = ${workspace.id}::uuid`),
      MAX_WAITING_INVITATIONS,
    );
  });

  it("an address gets at most 10 invitations a day from a workspace", async () => {
    const other = await rig.addWorkspace();
    const { token } = await rig.personIn(other, "workspaceAdmin");
    const sent = rig.mails.length;
    const invitation = { email: "ann@example.org", role: "member" };
    const invite = () => post(`/v1/workspaces/${other.id}/invitations`, invitation, token);
    assert.deepEqual(await tally(invite), { 201: MAX_EMAILS, 429: CALLS - MAX_EMAILS });
    assert.equal(rig.mails.length - sent, MAX_EMAILS);
    assert.equal(
      await count(sql`invitations where workspace_id = ${other.id}::uuid and revoked_at is null`),
      1,
    );
  });

  it("a workspace has at most 50 budgets", async () => {
    const create = (name: string) =>
      post(inWorkspace("budgets"), { name, subject: "workspace", amount: "1 USD" });
    for (let at = 0; at < MAX_FLEET_BUDGETS - ROOM; at += 1) assert.equal(await create(`a${at}`), 201);
    assert.deepEqual(await tally((at) => create(`b${at}`)), { 201: ROOM, 409: CALLS - ROOM });
    assert.equal(await count(sql`budgets where workspace_id = ${workspace.id}::uuid`), MAX_FLEET_BUDGETS);
  });

  it("a person has at most 50 saved views in a workspace", async () => {
    const save = (name: string) => post(inWorkspace("views"), { name, page: "/", query: "" });
    for (let at = 0; at < MAX_SAVED_VIEWS - ROOM; at += 1) assert.equal(await save(`a${at}`), 201);
    assert.deepEqual(await tally((at) => save(`b${at}`)), { 201: ROOM, 409: CALLS - ROOM });
    assert.equal(await count(sql`saved_views where workspace_id = ${workspace.id}::uuid`), MAX_SAVED_VIEWS);
  });

  it("five wrong pairing codes lock a person", async () => {
    const read = async (at: number) =>
      (await rig.call("GET", `/v1/pairing/codes/ABCD-${1_000 + at}`, owner.token)).status;
    assert.deepEqual(await tally(read), { 404: MAX_WRONG_CODES, 429: CALLS - MAX_WRONG_CODES });
  });

  it("a machine has at most 500 limit readings, also if all have the same time", async () => {
    const seen_at = new Date(rig.clock.now()).toISOString();
    const upload = (at: number) => {
      const reading = (n: number) => ({ provider: "openai", window: `w${at}-${n}`, unit: "usd", seen_at });
      const readings = Array.from({ length: 50 }, (_, n) => reading(n));
      return post("/v1/daemon/limits", { daemon_version: "0.4.0", readings }, workspace.token);
    };
    assert.deepEqual(await tally(upload), { 200: CALLS });
    assert.equal(
      await count(sql`limit_readings where workspace_id = ${workspace.id}::uuid`),
      MAX_LIMIT_READINGS,
    );
  });

  it("an organisation keeps one owner", async () => {
    const { organisationId } = workspace;
    const owners = sql`organisation_members where organisation_id = ${organisationId}::uuid and role = 'owner'`;
    const { userId } = await rig.personIn(workspace, "organisationOwner");
    assert.equal(await count(owners), 2);
    const both = [owner.userId, userId];
    await tally(async (at) => {
      const path = `/v1/organisations/${organisationId}/members/${both[at % 2]}`;
      return (await rig.call("PATCH", path, owner.token, { role: "member" })).status;
    });
    assert.equal(await count(owners), 1);
  });
});
