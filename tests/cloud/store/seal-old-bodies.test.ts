import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { collectErrors } from "../../../cloud/collect-errors.ts";
import { createCloud } from "../../../cloud/create-cloud.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { startPurgeJob } from "../../../cloud/purge/purge-job.ts";
import { BodyKeyMissing } from "../../../cloud/store/body-keys.ts";
import { beginErasure } from "../../../cloud/store/erasures.ts";
import { sealOldBodies } from "../../../cloud/store/seal-old-bodies.ts";
import { type CloudRig, createRig, START, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../kit/engines.ts";
import { bodyPayload, sendRequest } from "../kit/stored-body.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };
/** All that can be encrypted; a failure fails the test. */
const ALL = {
  maxRequests: 1e6,
  isStopped: () => false,
  attempt: async (work: () => Promise<void>) => {
    await work();
    return true;
  },
};
const DIRECTIONS = ["request", "response"] as const;

type App = Pick<ReturnType<CloudRig["app"]>, "request">;

/** The cloud as a server that does not encrypt bodies. */
function withoutKeys(rig: CloudRig): App {
  const { db, clock, accounts } = rig;
  const ports = { db, clock, accounts, sha256, randomBytes: createRandomBytes() };
  return createCloud({ ...ports, log: () => {}, mail: async () => {}, peerAddress: () => null }, config);
}

async function send(app: App, { token }: TestWorkspace, requestId: string, text: string): Promise<void> {
  for (const direction of DIRECTIONS) {
    const answer = await app.request(`/v1/requests/${requestId}/body`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ ...bodyPayload(requestId, `${text} of the ${direction}`), direction }),
    });
    assert.equal(answer.status, 204);
  }
}

/** A workspace with requests whose bodies are stored in clear, each with these versions. */
async function addOld(rig: CloudRig, count: number, versions: readonly string[]) {
  const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const requestId = await sendRequest(rig, workspace, { project: "apollo" });
    for (const text of versions) await send(withoutKeys(rig), workspace, requestId, text);
    ids.push(requestId);
  }
  return { workspace, ids };
}

const sealing = (rig: CloudRig) => ({ keys: rig.bodyKeys, randomBytes: createRandomBytes() });

/** The sides in clear, and how many there are in all. */
async function countSides(rig: CloudRig, { id }: TestWorkspace): Promise<{ clear: number; all: number }> {
  const { rows } = await sql<{ clear: number; all: number }>`
    select count(*) filter (where key_id is null)::integer as clear, count(*)::integer as all from (
      select request_key_id as key_id from request_bodies where workspace_id = ${id}::uuid and request_body is not null
      union all
      select response_key_id from request_bodies where workspace_id = ${id}::uuid and response_body is not null
      union all
      select key_id from request_body_versions where workspace_id = ${id}::uuid) sides`.execute(rig.db);
  return rows[0] as { clear: number; all: number };
}

async function readText(rig: CloudRig, { id, userId }: TestWorkspace, requestId: string, version?: number) {
  const query = new URLSearchParams({ workspace_id: id });
  if (version !== undefined) query.set("request_version", `${version}`);
  const answer = await rig.call("GET", `/v1/traces/${requestId}/body?${query}`, await rig.sessionFor(userId));
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { request: { text: string } }).request.text;
}

describeOnOneEngine("sealOldBodies()", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("encrypts each side and version in clear, which reads as before, and finds nothing the second time", async () => {
    const { workspace, ids } = await addOld(rig, 3, ["first", "second"]);
    const dump = async () => {
      const { rows } = await sql<{ text: string }>`
        select coalesce(encode(request_body, 'escape'), '') || coalesce(encode(response_body, 'escape'), '') as text
        from request_bodies where workspace_id = ${workspace.id}::uuid
        union all select encode(body, 'escape') from request_body_versions
        where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
      return rows.map(({ text }) => text).join("\n");
    };
    assert.deepEqual(await countSides(rig, workspace), { clear: 12, all: 12 });
    assert.match(await dump(), /first of the response/);
    assert.deepEqual(await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), ALL), {
      sealed: 12,
      isUnfinished: false,
    });
    assert.deepEqual(await countSides(rig, workspace), { clear: 0, all: 12 });
    assert.doesNotMatch(await dump(), /of the re/);
    for (const id of ids) {
      assert.equal(await readText(rig, workspace, id), "second of the request");
      assert.equal(await readText(rig, workspace, id, 1), "first of the request");
    }
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
    assert.equal((await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), ALL)).sealed, 0);
  });

  it("treats an encrypted side as equal to the one that its sender sends again", async () => {
    const { workspace, ids } = await addOld(rig, 1, ["only"]);
    await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), ALL);
    await send(rig.app(config), workspace, ids[0] as string, "only");
    assert.deepEqual(await countSides(rig, workspace), { clear: 0, all: 2 });
  });

  it("continues where an interrupted run ended", async () => {
    const { workspace } = await addOld(rig, 5, ["text"]);
    let left = 3;
    const isStopped = () => left-- <= 0;
    const first = await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), { ...ALL, isStopped });
    assert.deepEqual(first, { sealed: 3, isUnfinished: true });
    const limited = await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), { ...ALL, maxRequests: 1 });
    assert.deepEqual(limited, { sealed: 1, isUnfinished: true });
    assert.equal((await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), ALL)).sealed, 6);
    assert.equal((await countSides(rig, workspace)).clear, 0);
  });

  it("encrypts all others if the key of some is missing, and reports the error", async () => {
    const broken = await addOld(rig, 2, ["text"]);
    // A later id: bodies are encrypted in the order of workspaces.
    rig.clock.advance(1);
    const intact = await addOld(rig, 2, ["text"]);
    const { workspace } = broken;
    const kept = new Set(rig.bodyKeys.stored.keys());
    const requestId = await sendRequest(rig, workspace, { project: "apollo" });
    await send(rig.app(config), workspace, requestId, "new");
    await rig.bodyKeys.destroy([...rig.bodyKeys.stored.keys()].filter((keyId) => !kept.has(keyId)));
    const { errors, attempt } = collectErrors();
    const run = { ...ALL, maxRequests: 2, attempt };
    assert.equal((await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), run)).sealed, 2);
    assert.equal((await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), run)).sealed, 2);
    assert.ok(errors.length > 0 && errors.every((error) => error instanceof BodyKeyMissing));
    assert.deepEqual(await countSides(rig, intact.workspace), { clear: 0, all: 4 });
    assert.deepEqual(await countSides(rig, workspace), { clear: 4, all: 6 });
    await rig.db.deleteFrom("request_bodies").where("workspace_id", "=", workspace.id).execute();
  });

  it("leaves bodies that a started erasure will delete, so that no key outlives its destruction", async () => {
    const { workspace } = await addOld(rig, 1, ["text"]);
    rig.clock.advance(1_000);
    const erasure = { workspaceId: workspace.id, userId: workspace.userId, project: null };
    const begun = { ...erasure, erasureId: rig.uuid(), actorUserId: null };
    await beginErasure(rig.db, begun, () => rig.clock.now());
    assert.equal((await sealOldBodies(rig.db, sealing(rig), rig.clock.now(), ALL)).sealed, 0);
    const keys = await rig.db
      .selectFrom("body_keys")
      .select("key_id")
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.deepEqual(keys, []);
  });

  it("is part of the hourly job, which logs it and compacts once", async () => {
    const { workspace } = await addOld(rig, 2, ["text"]);
    const events: unknown[] = [];
    let compacted = 0;
    let compact = () => {};
    const isCompacted = new Promise<void>((resolve) => (compact = resolve));
    const parts = { ...rig, ...rig.parts, sha256, log: (event: unknown) => void events.push(event) };
    const job = startPurgeJob(parts, async () => {
      compacted += 1;
      compact();
    });
    rig.clock.advance(60_000);
    await isCompacted;
    await job.stop();
    assert.equal((await countSides(rig, workspace)).clear, 0);
    assert.deepEqual([compacted, events], [1, [{ event: "cloud.bodies_sealed", bodies: 4 }]]);
  });
});

describeOnPostgres("sealOldBodies() under load", (engine) => {
  it("encrypts everything once while senders replace bodies and other processes encrypt too", async (test) => {
    const rig = await createRig(engine, { config });
    test.after(() => rig.close());
    const { workspace, ids } = await addOld(rig, 30, ["old"]);
    const sending = ids.map(async (id, n) => {
      if (n % 2 === 0) await send(rig.app(config), workspace, id, "new");
    });
    const runs = [1, 2, 3].map(() => sealOldBodies(rig.db, sealing(rig), START, ALL));
    await Promise.all(sending);
    // A run whose transaction lost against others three times fails, and the next run continues.
    await Promise.allSettled(runs);
    await sealOldBodies(rig.db, sealing(rig), START, ALL);
    // Each second request has its new sides, and the old ones as versions.
    assert.deepEqual(await countSides(rig, workspace), { clear: 0, all: 90 });
    for (const [n, id] of ids.entries()) {
      assert.equal(await readText(rig, workspace, id), `${n % 2 === 0 ? "new" : "old"} of the request`);
      if (n % 2 === 0) assert.equal(await readText(rig, workspace, id, 1), "old of the request");
    }
  });
});
