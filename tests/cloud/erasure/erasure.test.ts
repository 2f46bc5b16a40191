import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { continueErasures, erasePrompts } from "../../../cloud/erasure/run-erasure.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { newId } from "../../../cloud/new-id.ts";
import { openBody } from "../../../cloud/store/body-cipher.ts";
import {
  beginErasure,
  eraseBatch,
  isInService,
  listErasures,
  listErasureTasks,
} from "../../../cloud/store/erasures.ts";
import { RESUME_AFTER_MS } from "../../../cloud/store/tasks.ts";
import { hashText } from "../../../core/values/hash-text.ts";
import { batch, type CloudRig, createRig, json, record, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };

const canary = (of: string) => `canary-${of}-51c2`;

/** Every row of every table as text, as a backup holds it. */
async function dump(rig: CloudRig): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'accounts')`.execute(rig.db);
  const texts = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.raw(name)} t`.execute(
      rig.db,
    );
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join("\n");
}

const hex = (text: string) => Buffer.from(text).toString("hex");

describeOnOneEngine("an erasure of prompts", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  const parts = () => ({ ...rig.parts, sha256, bodyKeys: rig.bodyKeys });
  const resume = async () => await continueErasures(parts(), await listErasureTasks(rig.db, rig.clock.now()));
  const workspaceWithBodies = async (name: string) => {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const bodies: Record<string, string> = {};
    for (const project of ["apollo", "hermes"]) {
      const requestId = await sendRequest(rig, workspace, {
        project,
        path: `/${canary(`${name}-${project}-path`)}`,
        source_workdir: `/home/${canary(`${name}-${project}-workdir`)}`,
      });
      for (const text of ["first", "second"]) {
        const sent = await sendBody(rig, workspace, requestId, canary(`${name}-${project}-${text}`));
        assert.equal(sent.status, 204);
      }
      bodies[project] = requestId;
    }
    return { workspace, apollo: bodies.apollo ?? "", hermes: bodies.hermes ?? "" };
  };
  const read = async (workspace: TestWorkspace, requestId: string) => {
    const token = await rig.sessionFor(workspace.userId);
    return await rig.call("GET", `/v1/traces/${requestId}/body?workspace_id=${workspace.id}`, token);
  };

  it("keeps the description of a prompt out that arrives later, or again, with a request from before", async () => {
    const { workspace, apollo } = await workspaceWithBodies("late");
    const sentBefore = rig.clock.now();
    rig.clock.advance(1_000);
    const scope = { workspaceId: workspace.id, userId: workspace.userId, project: "apollo" };
    await erasePrompts(parts(), scope, workspace.userId);
    const late = (project: string, at: number) => ({
      ...{ project, path: `/${canary(`late-${project}`)}`, requested_at: new Date(at).toISOString() },
    });
    const before = await sendRequest(rig, workspace, late("apollo", sentBefore));
    const other = await sendRequest(rig, workspace, late("hermes", sentBefore));
    const since = await sendRequest(rig, workspace, late("apollo", rig.clock.now()));
    // A duplicate fills in what is null, but not what was erased.
    const sent = batch({ ...record(apollo), ...late("apollo", sentBefore) });
    const { duplicates } = await json(rig.call("POST", "/v1/requests/batch", workspace.token, sent));
    assert.equal(duplicates, 1);
    const rows = await rig.db
      .selectFrom("requests")
      .select(["request_id", "path"])
      .where("workspace_id", "=", workspace.id)
      .execute();
    const pathOf = (id: string) => rows.find((row) => row.request_id === id)?.path;
    assert.deepEqual([pathOf(before), pathOf(apollo)], [null, null]);
    assert.equal(pathOf(other), `/${canary("late-hermes")}`);
    assert.equal(pathOf(since), `/${canary("late-apollo")}`);
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
  });

  it("is repeated by the next run, for records that were being sent while it ran", async () => {
    const workspace = await rig.addWorkspace();
    const requestId = rig.uuid();
    const path = `/${canary("slow")}`;
    const requested_at = new Date(rig.clock.now()).toISOString();
    rig.clock.advance(1_000);
    const scope = { workspaceId: workspace.id, userId: workspace.userId, project: null };
    // Read once the key was authenticated.
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await erasePrompts(parts(), scope, null);
          const sent = JSON.stringify(batch({ ...record(requestId), path, requested_at }));
          controller.enqueue(new TextEncoder().encode(sent));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { authorization: `Bearer ${workspace.token}` };
    const answer = await rig
      .app(config)
      .request("/v1/requests/batch", { method: "POST", headers, body, duplex: "half" } as RequestInit);
    assert.equal((await json(answer)).accepted, 1);
    rig.clock.advance(RESUME_AFTER_MS);
    assert.deepEqual(await resume(), []);
    const row = await rig.db
      .selectFrom("requests")
      .select(["path", "provider"])
      .where("request_id", "=", requestId)
      .executeTakeFirst();
    assert.deepEqual(row, { path: null, provider: "openai" });
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
  });

  it("leaves no text of a person in any table, and nothing readable in a backup", async () => {
    const { workspace, apollo } = await workspaceWithBodies("ann");
    assert.equal((await read(workspace, apollo)).status, 200);
    const backup = await dump(rig);
    for (const version of ["first", "second"]) {
      for (const project of ["apollo", "hermes"]) {
        const text = canary(`ann-${project}-${version}`);
        assert.ok(!backup.includes(text) && !backup.includes(hex(text)));
      }
    }
    for (const key of rig.bodyKeys.stored.values()) {
      assert.ok(!backup.includes(Buffer.from(key).toString("hex")));
    }
    const [saved] = await rig.db
      .selectFrom("request_bodies")
      .selectAll()
      .where("request_id", "=", apollo)
      .execute();
    assert.ok(saved?.request_body != null && saved.request_key_id !== null);
    const place = { workspaceId: workspace.id, requestId: apollo, direction: "request" } as const;
    const key = rig.bodyKeys.stored.get(saved.request_key_id);
    assert.ok(key);
    assert.equal(
      new TextDecoder().decode(await openBody(saved.request_body, key, place)),
      canary("ann-apollo-second"),
    );

    const spent = () =>
      rig.db
        .selectFrom("usage_daily")
        .select(["project", "requests", "cost_pico_usd"])
        .where("workspace_id", "=", workspace.id)
        .orderBy("project")
        .execute();
    const before = await spent();
    rig.clock.advance(1_000);
    const report = await erasePrompts(
      parts(),
      { workspaceId: workspace.id, userId: workspace.userId, project: null },
      workspace.userId,
    );
    const left = await dump(rig);
    assert.ok(!left.includes("canary-ann-") && !left.includes(hex("canary-ann-")));
    assert.equal(rig.bodyKeys.stored.get(saved.request_key_id), undefined);
    assert.equal((await read(workspace, apollo)).status, 404);
    assert.deepEqual(await spent(), before);

    const certificate = JSON.parse(report.certificate);
    assert.deepEqual(certificate.erased, {
      bodies: 2,
      replaced_versions: 2,
      requests_without_description: 2,
      prompt_views: 0,
      audit_events: 2,
    });
    assert.equal(certificate.destroyed_keys.length, 2);
    for (const place of [
      /^Paths.* in clear: in backups .* write-ahead log, until it is compacted/m,
      /^Copies on the machines/m,
    ])
      assert.match(certificate.remains.join("\n"), place);
    const verdict = await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256);
    assert.ok(verdict.ok);
    const events = await rig.db
      .selectFrom("audit_events")
      .select("details")
      .where("workspace_id", "=", workspace.id)
      .where("kind", "=", "prompts_erased")
      .execute();
    assert.deepEqual(
      events.map(({ details }) => details.certificate_sha256),
      [hashText(report.certificate, sha256)],
    );
  });

  it("erases one project and keeps the others readable", async () => {
    const { workspace, apollo, hermes } = await workspaceWithBodies("ben");
    rig.clock.advance(1_000);
    await erasePrompts(parts(), { workspaceId: workspace.id, userId: null, project: "apollo" }, null);
    assert.equal((await read(workspace, apollo)).status, 404);
    const kept = await read(workspace, hermes);
    assert.equal(kept.status, 200);
    assert.match(await kept.text(), new RegExp(canary("ben-hermes-second")));
    const left = await dump(rig);
    assert.ok(!left.includes("canary-ben-apollo-"));
    assert.ok(left.includes(canary("ben-hermes-path")));
  });

  it("refuses a body that comes later for a request before the erasure, and stores those of newer requests", async () => {
    const { workspace, apollo } = await workspaceWithBodies("cleo");
    rig.clock.advance(1_000);
    await erasePrompts(
      parts(),
      { workspaceId: workspace.id, userId: workspace.userId, project: "apollo" },
      null,
    );
    assert.equal((await sendBody(rig, workspace, apollo, canary("cleo-late"))).status, 404);
    rig.clock.advance(1_000);
    const newer = await sendRequest(rig, workspace, {
      project: "apollo",
      requested_at: new Date(rig.clock.now()).toISOString(),
    });
    assert.equal((await sendBody(rig, workspace, newer, canary("cleo-newer"))).status, 204);
    assert.match(await (await read(workspace, newer)).text(), new RegExp(canary("cleo-newer")));
    assert.ok(!(await dump(rig)).includes(canary("cleo-late")));
  });

  it("is finished by a later run if the key store fails, and certified once", async () => {
    const { workspace } = await workspaceWithBodies("dora");
    const scope = { workspaceId: workspace.id, userId: workspace.userId, project: null };
    const bodyKeys = {
      ...rig.bodyKeys,
      destroy: async () => {
        throw new Error("the key store is down");
      },
    };
    rig.clock.advance(1_000);
    await assert.rejects(erasePrompts({ ...parts(), bodyKeys }, scope, null), /key store is down/);
    const [begun] = await listErasures(rig.db, workspace.id);
    assert.equal(begun?.certificate, null);
    assert.deepEqual(await resume(), []);
    rig.clock.advance(RESUME_AFTER_MS);
    const [report] = await resume();
    assert.ok(report);
    assert.deepEqual(await resume(), []);
    assert.deepEqual(
      (await listErasures(rig.db, workspace.id)).map(({ certificate }) => certificate),
      [report.certificate],
    );
    assert.ok(!(await dump(rig)).includes("canary-dora-"));
  });

  it("gives two processes that finish it the same certificate, which states what both erased and who requested it", async () => {
    const { workspace } = await workspaceWithBodies("fay");
    const scope = { workspaceId: workspace.id, userId: workspace.userId, project: null };
    const erasure = { ...scope, erasureId: newId(rig.parts), actorUserId: workspace.userId };
    rig.clock.advance(1_000);
    const begun = await beginErasure(rig.db, erasure, () => rig.clock.now());
    assert.equal(await eraseBatch(rig.db, begun, rig.clock.now()), 2);
    rig.clock.advance(RESUME_AFTER_MS);
    const reports = (await Promise.all([resume(), resume()])).flat();
    const [certificate, ...others] = new Set(reports.map((report) => report.certificate));
    assert.ok(certificate !== undefined && others.length === 0);
    assert.deepEqual(JSON.parse(certificate).erased, {
      bodies: 2,
      replaced_versions: 2,
      requests_without_description: 2,
      prompt_views: 0,
      audit_events: 2,
    });
    const events = await rig.db
      .selectFrom("audit_events")
      .select("actor_user_id")
      .where("workspace_id", "=", workspace.id)
      .where("kind", "=", "prompts_erased")
      .execute();
    assert.deepEqual(events, [{ actor_user_id: workspace.userId }]);
  });

  it("knows which workspaces are in service", async () => {
    const { id } = await rig.addWorkspace();
    assert.ok(await isInService(rig.db, id));
    await rig.db.updateTable("workspaces").set({ deleted_at: 1 }).where("workspace_id", "=", id).execute();
    assert.ok(!(await isInService(rig.db, id)));
    assert.ok(!(await isInService(rig.db, rig.uuid())));
  });

  it("fails for a body whose key is missing although it was not destroyed", async () => {
    const { workspace, apollo } = await workspaceWithBodies("eve");
    const keys = new Map(rig.bodyKeys.stored);
    await rig.bodyKeys.destroy([...keys.keys()]);
    assert.equal((await read(workspace, apollo)).status, 500);
    assert.ok(
      rig.log.some((event) => event.event === "cloud.request_failed" && event.reason === "BodyKeyMissing"),
    );
    for (const [keyId, key] of keys) await rig.bodyKeys.write(keyId, key);
    assert.equal((await read(workspace, apollo)).status, 200);
  });

  it("answers 425 to a body whose key can't be read or created, until it can", async () => {
    const { workspace, apollo } = await workspaceWithBodies("uma");
    const { read: readKey, write: writeKey } = rig.bodyKeys;
    const refuse = () => Promise.reject(new Error("EACCES"));
    const send = async (requestId: string, text: string) => {
      const answer = await sendBody(rig, workspace, requestId, text);
      return answer.status === 204 ? 204 : [answer.status, (await json(answer)).code];
    };
    const countKeys = async () => {
      const rows = await rig.db
        .selectFrom("body_keys")
        .select("key_id")
        .where("workspace_id", "=", workspace.id)
        .execute();
      return rows.length;
    };
    rig.log.length = 0;
    try {
      Object.assign(rig.bodyKeys, { read: refuse });
      assert.deepEqual(await send(apollo, "third"), [425, "body_key_unavailable"]);
      Object.assign(rig.bodyKeys, { read: readKey, write: refuse });
      const zeus = await sendRequest(rig, workspace, { project: "zeus" });
      assert.deepEqual(await send(zeus, "first"), [425, "body_key_unavailable"]);
      assert.equal(await send(apollo, "third"), 204);
      assert.equal(await countKeys(), 2);
      Object.assign(rig.bodyKeys, { write: writeKey });
      assert.equal(await send(zeus, "first"), 204);
      assert.equal(await countKeys(), 3);
    } finally {
      Object.assign(rig.bodyKeys, { read: readKey, write: writeKey });
    }
    const faults = rig.log.flatMap((each) =>
      each.event === "cloud.body_key_unavailable" ? [each.reason] : [],
    );
    assert.deepEqual(faults, ["unreadable", "not_created"]);
  });

  it("makes a new key for an owner whose lost key was erased", async () => {
    const { workspace } = await workspaceWithBodies("lea");
    const lost = [...rig.bodyKeys.stored.keys()];
    await rig.bodyKeys.destroy(lost);
    rig.clock.advance(1);
    const scope = { workspaceId: workspace.id, userId: workspace.userId, project: "apollo" };
    await erasePrompts(parts(), scope, null);
    rig.clock.advance(1);
    const requested_at = new Date(rig.clock.now()).toISOString();
    const later = await sendRequest(rig, workspace, { project: "apollo", requested_at });
    assert.equal((await sendBody(rig, workspace, later, "new")).status, 204);
    assert.equal((await read(workspace, later)).status, 200);
  });
});
