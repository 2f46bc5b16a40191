import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { writeDeletionCertificate } from "../../../cloud/erasure/certificate.ts";
import { erasePrompts } from "../../../cloud/erasure/run-erasure.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { startPurgeJob } from "../../../cloud/purge/purge-job.ts";
import { listDeletedSubject, listDue, runPurge } from "../../../cloud/purge/run-purge.ts";
import { compactDatabase } from "../../../cloud/store/compact.ts";
import { DELETED_WITH_WORKSPACE } from "../../../cloud/store/delete-and-blank.ts";
import { leaveAllOrganisations } from "../../../cloud/store/deletions.ts";
import { listErasureTasks } from "../../../cloud/store/erasures.ts";
import { INVITATION_TTL_MS } from "../../../cloud/store/invitations.ts";
import { forgottenAddresses } from "../../../cloud/store/migrations/0033-forgotten-addresses.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { findErased } from "../../../cloud/store/purge.ts";
import { RESUME_AFTER_MS } from "../../../cloud/store/tasks.ts";
import type { BodyKeyStore } from "../../../core/ports/body-key-store.ts";
import { PURGE_DELAY_MS } from "../../../core/privacy/deletion/soft-deletion.ts";
import { DAY_MS, HOUR_MS } from "../../../core/values/time.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { lowerPasswordCost } from "../../adapters/accounts/low-cost-passwords.rig.ts";
import { auditOf } from "../kit/audit.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import {
  describeOnOneEngine,
  describeOnPostgres,
  type Engine,
  migratedSnapshot,
  startMigrated,
  type TestDatabase,
} from "../kit/engines.ts";
import { missingPostgres } from "../kit/postgres-server.ts";

before(lowerPasswordCost);

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };
const randomBytes = createRandomBytes();

/** A unique text; `of` names its owner and its place. */
const canary = (of: string) => `canary-${of}-7f3e`;

/** A prompt hash that identifies its owner. */
const promptHashOf = (name: string) => Buffer.from(canary(name)).toString("hex").padEnd(64, "0").slice(0, 64);

const accountsOf = (test: TestDatabase) =>
  createBetterAuthAccounts(test.db, {
    baseUrl: "https://cloud.meter.example",
    secret: "a secret of the tests that is long enough 0123456789",
    newId: () => uuidV7(0, randomBytes(10)),
    mail: async () => {},
    policy: { allows: async () => false, accountCreated: async () => {} },
  });

interface World {
  readonly workspace: TestWorkspace;
  readonly admin: TestPerson;
  readonly author: TestPerson & { readonly key: string; readonly requestId: string; readonly email: string };
}

const header = (name: string, token: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${token}`,
  "user-agent": canary(`${name}-agent`),
  ...more,
});

/** A workspace with an owner, and an author who has left a text in every place that accepts one. */
async function fill(rig: CloudRig, name: string): Promise<World> {
  const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
  const admin = await rig.personIn(workspace, "organisationOwner");
  const email = `${canary(`${name}-email`)}@example.com`;
  const invited = await json(
    rig.call("POST", `/v1/workspaces/${workspace.id}/invitations`, admin.token, { email, role: "member" }),
  );
  const made = await rig.accounts.createUser({
    name: canary(`${name}-name`),
    email,
    password: "correct horse battery",
  });
  assert.ok(made.ok);
  const token = await rig.sessionFor(made.userId);
  const accepted = await rig.call("POST", "/v1/invitations/accept", token, {
    token: invited.link.split("#")[1],
  });
  assert.equal(accepted.status, 200);
  const start = await json(
    rig.main("POST", "/v1/pairing/start", {
      fingerprint: Buffer.from(canary(`${name}`).padEnd(16).slice(0, 16)).toString("hex"),
      hostname: canary(`${name}-host`),
      platform: "linux",
      daemon_version: "0.4.0",
    }),
  );
  const approval = { code: start.code, workspace_id: workspace.id };
  assert.equal((await rig.call("POST", "/v1/pairing/approve", token, approval)).status, 204);
  const { sync_token: key } = await json(
    rig.main("POST", "/v1/pairing/poll", { poll_token: start.poll_token }),
  );
  const requestId = rig.uuid();
  const sent = record(requestId, {
    requested_at: new Date(rig.clock.now()).toISOString(),
    prompt_tokens: 1_000,
    source_workdir: `/home/${canary(`${name}-workdir`)}`,
    path: `/v1/${canary(`${name}-path`)}`,
    prompt_hash: promptHashOf(name),
  });
  const taken = await json(rig.call("POST", "/v1/requests/batch", key, batch(sent)));
  assert.deepEqual(taken.rejected, []);
  const hour = new Date(Math.floor(rig.clock.now() / HOUR_MS) * HOUR_MS).toISOString();
  const coverage = await rig.call("POST", "/v1/daemon/coverage", key, {
    ...{ daemon_version: "0.4.0", as_of: hour, runs: [{ from: hour, to: hour }] },
    hours: [{ hour, metered: 1, seen: 1, counts: [{ kind: canary(`${name}-kind`), count: 1 }] }],
  });
  assert.equal(coverage.status, 200);
  for (const [direction, version] of [
    ["request", "first"],
    ["request", "second"],
    ["response", "only"],
  ]) {
    const stored = await rig.call("POST", `/v1/requests/${requestId}/body`, key, {
      request_id: requestId,
      direction,
      content_type: "text/plain",
      body_b64: Buffer.from(canary(`${name}-${direction}-${version}-body`)).toString("base64"),
      redaction_applied: false,
      redaction_summary: [],
      original_size_bytes: 9,
    });
    assert.equal(stored.status, 204);
  }
  const path = `/v1/traces/${requestId}/body?workspace_id=${workspace.id}`;
  const viewed = await rig.main("GET", path, undefined, {
    ...header(name, admin.token),
    "x-prompt-view-reason": canary(`${name}-reason`),
  });
  assert.equal(viewed.status, 200);
  await rig.db
    .insertInto("checkout_consent_records")
    .values({
      consent_id: rig.uuid(),
      user_id: made.userId,
      plan: "team",
      period: "monthly",
      wording_hash: "0",
      ip: "192.0.2.77",
      user_agent: canary(`${name}-consent-agent`),
      timestamp: rig.clock.now(),
    })
    .execute();
  return { workspace, admin, author: { userId: made.userId, token, key, requestId, email } };
}

/** What the purge erases of a workspace that was filled. */
const ROWS_OF_WORKSPACE = {
  ...{ audit_events: 5, bodies: 1, cost_seals: 1, coverage_days: 1, coverage_hours: 1, daemon_runs: 1 },
  ...{ invitations: 1, keys: 1, machines: 2, memberships: 2, person_workspaces: 2, prompt_views: 1 },
  ...{ replaced_versions: 1, requests: 1, sync_keys: 2, usage_branches: 4, usage_daily: 1, usage_hourly: 1 },
};

/** Returns every table that has a row with a text, of the application's and the accounts' schemas. */
async function tablesWith(db: CloudDatabase, text: string): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'accounts') order by 1`.execute(db);
  const found: string[] = [];
  const hex = Buffer.from(text).toString("hex");
  for (const { name } of tables) {
    const { rows } = await sql<{ n: number }>`select count(*)::integer as n from ${sql.raw(name)} t
      where t::text like ${`%${text}%`} or t::text like ${`%${hex}%`}`.execute(db);
    if ((rows[0]?.n ?? 0) > 0) found.push(name);
  }
  return found;
}

/** Returns the files below a folder that contain a text, as bytes. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const path = join(entry.parentPath, entry.name);
    return readFileSync(path).includes(text) ? [path.slice(folder.length)] : [];
  });
}

const pass = (rig: CloudRig, ms: number) => rig.clock.advance(ms);

describeOnOneEngine("the purge", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config, accounts: accountsOf });
  });
  after(() => rig.close());

  it("erases a deleted account everywhere when its 30 days are over, and not before", async () => {
    const { workspace, author } = await fill(rig, "ann");
    const totals = () =>
      rig.db
        .selectFrom("usage_daily")
        .select("cost_pico_usd")
        .where("workspace_id", "=", workspace.id)
        .execute();
    const before = await totals();
    const deleted = await json(rig.call("DELETE", "/v1/account", author.token));
    assert.deepEqual((await runPurge(rig)).erased, []);
    pass(rig, PURGE_DELAY_MS - 1);
    assert.deepEqual((await runPurge(rig)).erased, []);
    assert.notDeepEqual(await tablesWith(rig.db, "canary-ann-"), []);
    const runs = () => rig.db.selectFrom("daemon_runs").select("run_from").execute();
    assert.equal((await runs()).length, 1);
    pass(rig, 1);
    assert.equal(Date.parse(deleted.purge_due_at), rig.clock.now());
    assert.equal(await findErased(rig.db, author.userId), null);
    assert.deepEqual(
      (await runPurge(rig)).erased.map(({ kind, id }) => [kind, id]),
      [["account", author.userId]],
    );
    const erased = await findErased(rig.db, author.userId);
    assert.ok(erased !== null);
    const { remains, ...certificate } = JSON.parse(writeDeletionCertificate(erased));
    assert.deepEqual(certificate, {
      ...{ certificate: "erasure of a deleted account", version: 1, id: author.userId },
      deleted_at: new Date(rig.clock.now() - PURGE_DELAY_MS).toISOString(),
      finished_at: new Date(rig.clock.now()).toISOString(),
      erased: {
        ...{ audit_events: 3, bodies: 1, consents: 1, coverage_days: 1, coverage_hours: 1, daemon_runs: 1 },
        ...{ invitations: 1, keys: 1, machines: 1, memberships: 1, organisation_members: 1 },
        ...{ person_workspaces: 1, prompt_views: 1, replaced_versions: 1, requests_without_description: 1 },
        sync_keys: 1,
      },
    });
    assert.match(remains[0], /tokens and costs/);
    assert.deepEqual(await tablesWith(rig.db, "canary-ann-"), []);
    assert.deepEqual(await tablesWith(rig.db, promptHashOf("ann")), []);
    assert.deepEqual(await runs(), []);
    assert.deepEqual(await tablesWith(rig.db, "192.0.2.77"), []);
    // The workspace's spend stays, under an id that identifies no one.
    assert.deepEqual(await totals(), before);
    const left = await rig.db
      .selectFrom("requests")
      .select(["user_id", "prompt_tokens"])
      .where("request_id", "=", author.requestId)
      .execute();
    assert.deepEqual(left, [{ user_id: author.userId, prompt_tokens: "1000" }]);
    const verdict = await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256);
    const { prompt_views: views, audit_events: events } = verdict;
    assert.ok(views.ok && views.erasedRows === 1 && views.head.seq === 1);
    assert.ok(events.ok && events.erasedRows > 0 && events.erasedRows < events.head.seq);
  });

  it("erases a deleted workspace, and nothing of one that is in service", async () => {
    const gone = await fill(rig, "gone");
    const kept = await fill(rig, "kept");
    await rig.call("DELETE", `/v1/workspaces/${gone.workspace.id}`, gone.admin.token);
    pass(rig, PURGE_DELAY_MS);
    const report = await runPurge(rig);
    assert.deepEqual(
      report.erased.map(({ id }) => id),
      [gone.workspace.id],
    );
    const erased = await findErased(rig.db, gone.workspace.id);
    assert.deepEqual([erased?.kind, erased?.rows], ["workspace", ROWS_OF_WORKSPACE]);
    const verdict = await verifyWorkspaceLedgers(rig.db, gone.workspace.id, null, sha256);
    assert.ok(verdict.ok && verdict.audit_events.ok && verdict.audit_events.erasedRows > 0);
    for (const table of DELETED_WITH_WORKSPACE) {
      const { rows } = await sql`select 1 from ${sql.table(table)}
        where workspace_id = ${gone.workspace.id}::uuid`.execute(rig.db);
      assert.deepEqual(rows, [], table);
    }
    const left = await tablesWith(rig.db, "canary-gone-");
    // The account stays in service: it may belong to other workspaces.
    assert.deepEqual(left, ["accounts.people", "public.checkout_consent_records"]);
    const path = `/v1/traces/${kept.author.requestId}/body?workspace_id=${kept.workspace.id}`;
    // A session lasts a week.
    const author = await rig.sessionFor(kept.author.userId);
    assert.equal((await rig.call("GET", path, author)).status, 200);
    assert.deepEqual(await tablesWith(rig.db, canary("kept-request-first-body")), []);
  });

  it("erases an account before its date with the organisations that were deleted with it, and with no others", async () => {
    const { author } = await fill(rig, "cleo");
    const other = await rig.personIn(await rig.addWorkspace(), "member");
    for (const { token } of [author, other]) {
      const organisation = { name: canary("cleo-own") };
      assert.equal((await rig.call("POST", "/v1/organisations", token, organisation)).status, 201);
      // At the same moment.
      assert.equal((await rig.call("DELETE", "/v1/account", token)).status, 200);
    }
    const subjects = await listDeletedSubject(rig, author.userId);
    assert.deepEqual(
      subjects.map(({ kind }) => kind),
      ["workspace", "organisation", "account"],
    );
    assert.deepEqual(await listDeletedSubject(rig, rig.uuid()), []);
    assert.deepEqual((await runPurge(rig, { subjects })).erased, subjects);
    const organisation = subjects.find(({ kind }) => kind === "organisation");
    assert.deepEqual((await findErased(rig.db, organisation?.id ?? ""))?.rows, { organisation_members: 1 });
    assert.equal((await listDeletedSubject(rig, other.userId)).length, 3);
    const { rows } = await sql<{ n: number }>`select count(*)::integer as n from organisations
      where name = ${canary("cleo-own")}`.execute(rig.db);
    assert.deepEqual(rows, [{ n: 1 }]);
    await runPurge(rig, { subjects: await listDeletedSubject(rig, other.userId) });
    assert.deepEqual(await tablesWith(rig.db, "canary-cleo-"), []);
  });

  it("covers every table with a workspace_id: its rows are deleted, or remain without their texts", async () => {
    const { rows } = await sql<{ name: string }>`select c.relname as name from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1`.execute(rig.db);
    const stays = [
      ...["audit_event_heads", "audit_events", "pairing_sessions", "prompt_view_heads", "prompt_views"],
      ...["cost_seal_heads", "cost_seals", "person_workspaces", "weekly_summaries"],
      ...["workspace_directory", "workspaces"],
    ];
    assert.deepEqual(
      rows.map(({ name }) => name),
      [...DELETED_WITH_WORKSPACE, ...stays].sort(),
    );
  });

  it("frees the address at once, ends sessions, keys and approvals, and hides the prompts from admins", async () => {
    const { workspace, admin, author } = await fill(rig, "ben");
    const start = await json(
      rig.main("POST", "/v1/pairing/start", {
        hostname: "h",
        platform: "linux",
        daemon_version: "0.4.0",
      }),
    );
    const approval = { code: start.code, workspace_id: workspace.id };
    assert.equal((await rig.call("POST", "/v1/pairing/approve", author.token, approval)).status, 204);
    await rig.call("DELETE", "/v1/account", author.token);
    assert.equal((await rig.call("GET", "/v1/me", author.token)).status, 401);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", author.key)).status, 401);
    const poll = await json(rig.main("POST", "/v1/pairing/poll", { poll_token: start.poll_token }));
    assert.equal(poll.status, "denied");
    const path = `/v1/traces/${author.requestId}/body?workspace_id=${workspace.id}&reason=x`;
    assert.equal((await rig.call("GET", path, admin.token)).status, 404);
    const view = { workspace_id: workspace.id, request_id: author.requestId, reason: "x" };
    const announced = { ...view, subject_user_id: author.userId };
    assert.equal((await rig.call("POST", "/v1/audit/prompt-views", admin.token, announced)).status, 404);
    const again = await rig.accounts.createUser({ name: "Ben", email: author.email, password: null });
    assert.ok(again.ok && again.userId !== author.userId);
  });

  it("erases the names of an account's views and its reasons from audit events", async () => {
    const { workspace, admin, author } = await fill(rig, "sharer");
    const base = `/v1/workspaces/${workspace.id}`;
    const send = async (method: string, path: string, token: string, body: unknown) => {
      const answer = await rig.call(method, `${base}${path}`, token, body);
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
      return answer.status === 201 ? (await json(answer)).id : null;
    };
    await send("PATCH", `/members/${author.userId}`, admin.token, { role: "admin" });
    const view = { name: canary("sharer-view"), page: "/requests", query: "", shared: true };
    const viewId = await send("POST", "/views", author.token, view);
    await send("PATCH", `/views/${viewId}`, admin.token, { name: canary("sharer-renamed") });
    const budget = { name: "monthly", subject: "workspace", amount: "5 USD", period: "month" };
    const budgetId = await send("POST", "/budgets", admin.token, budget);
    const lift = { minutes: 60, reason: canary("sharer-lift") };
    await send("POST", `/budgets/${budgetId}/lift`, author.token, lift);
    assert.equal((await rig.call("DELETE", "/v1/account", author.token)).status, 200);
    pass(rig, PURGE_DELAY_MS);
    await runPurge(rig);
    assert.deepEqual(await tablesWith(rig.db, "canary-sharer"), []);
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
  });

  it("erases the address of an invitation that was accepted months before", async () => {
    const { workspace, author } = await fill(rig, "old");
    pass(rig, 3 * PURGE_DELAY_MS);
    await runPurge(rig);
    const events = () =>
      rig.db
        .selectFrom("audit_events")
        .select("kind")
        .where("workspace_id", "=", workspace.id)
        .where(sql<boolean>`details ->> 'email' = ${author.email}`)
        .execute();
    assert.deepEqual(await events(), [{ kind: "member_invited" }]);
    await leaveAllOrganisations(rig.db, author.userId, rig.clock.now());
    pass(rig, PURGE_DELAY_MS);
    await runPurge(rig);
    assert.deepEqual(await events(), []);
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
  });

  describe("the address of an invitation that nobody accepted", () => {
    const invite = async (world: World, email: string): Promise<string> => {
      const path = `/v1/workspaces/${world.workspace.id}/invitations`;
      return (await json(rig.call("POST", path, world.admin.token, { email, role: "member" }))).id;
    };
    const withdraw = ({ workspace, admin }: World, id: string) =>
      rig.call("DELETE", `/v1/workspaces/${workspace.id}/invitations/${id}`, admin.token);
    const verifies = async ({ workspace }: World) =>
      (await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok;
    const purgeAfter = async (ms: number) => {
      pass(rig, ms);
      await runPurge(rig);
    };

    it("is erased everywhere 30 days after it expired, and not before", async () => {
      const world = await fill(rig, "exp");
      await invite(world, "canary-expired@example.com");
      await purgeAfter(INVITATION_TTL_MS + PURGE_DELAY_MS);
      assert.deepEqual(await tablesWith(rig.db, "canary-expired"), [
        "public.audit_events",
        "public.invitations",
      ]);
      await purgeAfter(1);
      assert.deepEqual(await tablesWith(rig.db, "canary-expired"), []);
      assert.deepEqual(await tablesWith(rig.db, world.author.email), [
        "accounts.people",
        "public.audit_events",
        "public.invitations",
      ]);
      assert.ok(await verifies(world));
    });

    it("is erased 30 days after it was withdrawn, also if it was sent again before", async () => {
      const world = await fill(rig, "wdn");
      const id = await invite(world, "canary-withdrawn@example.com");
      pass(rig, DAY_MS);
      const path = `/v1/workspaces/${world.workspace.id}/invitations/${id}/resend`;
      assert.equal((await rig.call("POST", path, world.admin.token)).status, 200);
      pass(rig, DAY_MS);
      assert.equal((await withdraw(world, id)).status, 204);
      await purgeAfter(PURGE_DELAY_MS);
      assert.deepEqual(await tablesWith(rig.db, "canary-withdrawn"), [
        "public.audit_events",
        "public.invitations",
      ]);
      await purgeAfter(1);
      assert.deepEqual(await tablesWith(rig.db, "canary-withdrawn"), []);
      assert.ok(await verifies(world));
    });

    it("stays while another invitation has it", async () => {
      const world = await fill(rig, "agn");
      await withdraw(world, await invite(world, "canary-again@example.com"));
      pass(rig, PURGE_DELAY_MS - DAY_MS);
      await invite(world, "canary-again@example.com");
      await purgeAfter(DAY_MS + 1);
      const events = await auditOf(rig, world.workspace.id);
      assert.equal(events.filter(([, , { email }]) => email === "canary-again@example.com").length, 3);
      await purgeAfter(INVITATION_TTL_MS + PURGE_DELAY_MS);
      assert.deepEqual(await tablesWith(rig.db, "canary-again"), []);
    });

    it("is erased if a version before 0033 deleted the invitation alone", async () => {
      const world = await fill(rig, "orp");
      const invitation_id = await invite(world, "canary-orphan@example.com");
      await rig.db.deleteFrom("invitations").where("invitation_id", "=", invitation_id).execute();
      await rig.db.deleteFrom("tasks").where("task_id", "=", invitation_id).execute();
      const [statement] = forgottenAddresses.statements;
      await sql
        .raw(statement?.replace("now()", `to_timestamp(${rig.clock.now() / 1_000})`) ?? "")
        .execute(rig.db);
      await purgeAfter(DAY_MS - 1);
      assert.deepEqual(await tablesWith(rig.db, "canary-orphan"), ["public.audit_events"]);
      await purgeAfter(1);
      assert.deepEqual(await tablesWith(rig.db, "canary-orphan"), []);
      assert.ok(await verifies(world));
    });
  });

  it("continues after any interruption, and a second run does nothing", async () => {
    const { workspace, admin } = await fill(rig, "cut");
    await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, admin.token);
    pass(rig, PURGE_DELAY_MS);
    let runs = 0;
    for (;;) {
      runs += 1;
      const report = await runPurge(rig, { maxSteps: 1 });
      if (report.left.length === 0) break;
    }
    assert.ok(runs > 5, `${runs} runs`);
    assert.deepEqual(await runPurge(rig), { erased: [], left: [], rows: 0 });
    assert.deepEqual((await findErased(rig.db, workspace.id))?.rows, ROWS_OF_WORKSPACE);
    assert.deepEqual(await listDue(rig), []);
  });

  it("closes an account whose deletion was interrupted before the account itself was closed", async () => {
    const { author } = await fill(rig, "half");
    const accounts = {
      ...rig.accounts,
      deleteUser: async () => {
        throw new Error("planned");
      },
    };
    await assert.rejects(
      runPurge({ ...rig, accounts }).then(() => Promise.reject(new Error("none"))),
      /none/,
    );
    await rig.db
      .insertInto("account_deletions")
      .values({ user_id: author.userId, deleted_at: rig.clock.now() })
      .execute();
    await assert.rejects(runPurge({ ...rig, accounts }), /planned/);
    await runPurge(rig);
    assert.equal((await rig.call("GET", "/v1/me", author.token)).status, 401);
  });

  it("erases everything else if one subject can't be erased, and says so", async () => {
    const worlds = [await fill(rig, "stuck"), await fill(rig, "free")];
    for (const { workspace, admin } of worlds)
      await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, admin.token);
    pass(rig, PURGE_DELAY_MS);
    let failures = 0;
    const destroy = async (keyIds: readonly string[]) => {
      if (failures++ === 0) throw new Error("planned");
      await rig.bodyKeys.destroy(keyIds);
    };
    await assert.rejects(runPurge({ ...rig, bodyKeys: { ...rig.bodyKeys, destroy } }), /planned/);
    assert.equal((await listDue(rig)).length, 1);
    assert.equal((await runPurge(rig)).erased.length, 1);
    assert.deepEqual(await listDue(rig), []);
  });

  it("runs its other steps if an erasure of prompts can't be continued", async () => {
    const { workspace, author } = await fill(rig, "lost");
    const scope = { workspaceId: workspace.id, userId: author.userId, project: null };
    const fails = async () => {
      throw new Error("planned");
    };
    const bodyKeys = { ...rig.bodyKeys, destroy: fails };
    await assert.rejects(erasePrompts({ ...rig.parts, sha256, bodyKeys }, scope, null), /planned/);
    const other = await fill(rig, "found");
    await rig.call("DELETE", `/v1/workspaces/${other.workspace.id}`, other.admin.token);
    pass(rig, PURGE_DELAY_MS);
    let keysLost = 1;
    const events = await eventsOfJob(rig, {
      ...rig.bodyKeys,
      destroy: async (keyIds) => (keysLost-- > 0 ? await fails() : await rig.bodyKeys.destroy(keyIds)),
    });
    assert.deepEqual(events, ["cloud.purged", "cloud.purge_failed"]);
    assert.deepEqual(await listDue(rig), []);
    assert.deepEqual(await eventsOfJob(rig, rig.bodyKeys), []);
    assert.deepEqual(await listErasureTasks(rig.db, rig.clock.now()), []);
  });

  it("runs an hour after its last run, and logs what it erased", async () => {
    const { workspace, admin } = await fill(rig, "job");
    await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, admin.token);
    pass(rig, PURGE_DELAY_MS);
    const events: { readonly event: string }[] = [];
    let purged = () => {};
    const isPurged = new Promise<void>((resolve) => {
      purged = resolve;
    });
    const job = startPurgeJob(
      { ...rig, ...rig.parts, sha256, log: (event) => events.push(event) },
      async () => purged(),
    );
    pass(rig, 60_000);
    await isPurged;
    await job.stop();
    assert.deepEqual(
      events.map(({ event }) => event),
      ["cloud.purged"],
    );
  });
});

describeOnPostgres("the purge in several processes", (engine) => {
  it("erases each subject once, whichever process gets it", async (test) => {
    const rig = await createRig(engine, { config, accounts: accountsOf });
    test.after(() => rig.close());
    const worlds = [await fill(rig, "p1"), await fill(rig, "p2"), await fill(rig, "p3")];
    for (const { workspace, admin, author } of worlds) {
      await rig.call("DELETE", "/v1/account", author.token);
      await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, admin.token);
    }
    pass(rig, PURGE_DELAY_MS);
    const reports = await Promise.all(Array.from({ length: 4 }, () => runPurge(rig)));
    await runPurge(rig);
    const erased = reports.flatMap((report) => report.erased.map(({ kind, id }) => `${kind} ${id}`));
    assert.equal(new Set(erased).size, erased.length);
    assert.deepEqual(await tablesWith(rig.db, "canary-"), []);
  });
});

/** Runs the purge job once, and returns the names of what it logged. */
async function eventsOfJob(rig: CloudRig, bodyKeys: BodyKeyStore): Promise<string[]> {
  const events: string[] = [];
  const hasRun = Promise.withResolvers<void>();
  const clock = {
    now: () => rig.clock.now(),
    setTimer(delayMs: number, run: () => void) {
      // The job plans its next run once it has ended this one.
      if (isFirst) return rig.clock.setTimer(delayMs, run);
      hasRun.resolve();
      return () => {};
    },
  };
  let isFirst = true;
  const job = startPurgeJob({
    ...{ ...rig, ...rig.parts, sha256, bodyKeys, clock },
    log: ({ event }) => events.push(event),
  });
  isFirst = false;
  pass(rig, 60_000);
  await hasRun.promise;
  await job.stop();
  return events;
}

/** An engine with one database, in files that a test can read. */
function engineOf(db: CloudDatabase): Pick<Engine, "open"> {
  return {
    open: async () => ({
      db,
      owner: db,
      // biome-ignore lint/suspicious/noExplicitAny: the rig does not read more of it.
      database: { dialect: null as any },
      url: null,
      close: () => db.destroy(),
    }),
  };
}

async function deleteAll(rig: CloudRig): Promise<void> {
  const { author, workspace, admin } = await fill(rig, "disk");
  await rig.call("DELETE", "/v1/account", author.token);
  await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, admin.token);
  pass(rig, PURGE_DELAY_MS);
}

/** Erases a person's prompts, as a page or a command does. Returns the texts that described them. */
async function eraseDescribed(rig: CloudRig): Promise<string[]> {
  const { author, workspace } = await fill(rig, "described");
  pass(rig, 1);
  const parts = { ...rig.parts, sha256, bodyKeys: rig.bodyKeys };
  await erasePrompts(parts, { workspaceId: workspace.id, userId: author.userId, project: null }, null);
  return ["workdir", "path", "reason"].map((place) => canary(`described-${place}`));
}

/** Runs the purge job once, as a server of the embedded database does. */
async function runJob(rig: CloudRig, db: CloudDatabase): Promise<void> {
  let compacted = () => {};
  const isCompacted = new Promise<void>((resolve) => {
    compacted = resolve;
  });
  const job = startPurgeJob({ ...rig, ...rig.parts, sha256, log: () => {} }, async () => {
    await compactDatabase(db);
    compacted();
  });
  pass(rig, RESUME_AFTER_MS);
  await isCompacted;
  await job.stop();
}

describe("the files of a purged database", () => {
  it("contain nothing that was erased once they are compacted, on PGlite", async () => {
    const folder = mkdtempSync(join(tmpdir(), "meter-purge-"));
    let db = openCloudDatabase(await openPgliteFolder(folder, await migratedSnapshot()));
    let rig = await createRig(engineOf(db), { config, accounts: accountsOf });
    const texts = await eraseDescribed(rig);
    const filesWithTexts = () => texts.map((text) => filesWith(folder, text).length > 0);
    await sql.raw("checkpoint").execute(db);
    assert.deepEqual(filesWithTexts(), [true, true, true]);
    await runJob(rig, db);
    assert.deepEqual(filesWithTexts(), [false, false, false]);
    assert.deepEqual(await listErasureTasks(db, rig.clock.now()), []);
    await deleteAll(rig);
    await sql.raw("checkpoint").execute(db);
    assert.notDeepEqual(filesWith(folder, "canary-disk-"), []);
    await runPurge(rig);
    await compactDatabase(db);
    await db.destroy();
    assert.deepEqual(filesWith(folder, "canary-disk-"), []);
    db = openCloudDatabase(await openPgliteFolder(folder));
    rig = await createRig(engineOf(db), { config, accounts: accountsOf });
    assert.deepEqual(await runPurge(rig), { erased: [], left: [], rows: 0 });
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  const missing = missingPostgres();
  const skip = missing === null ? false : `NOT TESTED: ${missing}`;
  it("contain nothing that was erased once they are compacted, on PostgreSQL", { skip }, async (test) => {
    const server = await startMigrated(true);
    const db = openCloudDatabase(openPostgres(server.url("template1"), systemClock));
    test.after(async () => {
      await db.destroy();
      await server.stop();
    });
    // docs/hosting.md: otherwise a reused segment of the log keeps its old bytes until they are overwritten.
    await sql.raw("alter system set wal_recycle = off").execute(db);
    await sql.raw("select pg_reload_conf()").execute(db);
    const rig = await createRig(engineOf(db), { config, accounts: accountsOf });
    await deleteAll(rig);
    await sql.raw("checkpoint").execute(db);
    assert.notDeepEqual(filesWith(server.folder, "canary-disk-"), []);
    await runPurge(rig);
    const { logEnded } = await compactDatabase(db);
    assert.equal(logEnded, true);
    assert.deepEqual(filesWith(server.folder, "canary-disk-"), []);
  });
});
