import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { decidePairing, PAIRING_TTL_MS, readPairing } from "../../../../cloud/store/pairing.ts";
import {
  normalisePairingCode,
  pairingPollResponseSchema,
  pairingStartResponseSchema,
} from "../../../../core/wire/pairing.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { type CloudRig, createRig, json, type TestWorkspace } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const config = { rateLimits: { perKey: 1e6, pairingPerAddress: 1e6, pollPerAddress: 1e6 } };
const machine = {
  fingerprint: "0123456789abcdef".repeat(2),
  hostname: "laptop",
  platform: "linux",
  daemon_version: "0.4.0",
};

interface Ticket {
  code: string;
  pollToken: string;
}

async function start(rig: CloudRig, fields: Record<string, unknown> = {}): Promise<Ticket> {
  const answer = await rig.call("POST", "/v1/pairing/start", null, { ...machine, ...fields });
  assert.equal(answer.status, 201);
  const said = await json(answer);
  assert.ok(parseWire(pairingStartResponseSchema, said).ok);
  assert.match(said.code, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  assert.ok(said.verification_url.endsWith(`/connect?code=${said.code}`));
  assert.deepEqual([said.expires_in, said.interval], [600, 2]);
  return { code: normalisePairingCode(said.code) ?? "", pollToken: said.poll_token };
}

const decide = (
  rig: CloudRig,
  workspace: TestWorkspace,
  code: string,
  approved: boolean,
  userId = workspace.userId,
) =>
  decidePairing(rig.db, {
    code,
    approved,
    workspaceId: workspace.id,
    userId,
    decidedBy: workspace.userId,
    now: rig.clock.now(),
  });

async function poll(rig: CloudRig, pollToken: string) {
  const answer = await rig.call("POST", "/v1/pairing/poll", null, { poll_token: pollToken });
  assert.equal(answer.status, 200);
  const said = await json(answer);
  assert.ok(parseWire(pairingPollResponseSchema, said).ok);
  return said;
}

describeOnOneEngine("pairing", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("mints a key for the approved workspace, once", async () => {
    const workspace = await rig.addWorkspace();
    const { code, pollToken } = await start(rig);
    assert.deepEqual(await readPairing(rig.db, code, rig.clock.now()), {
      hostname: "laptop",
      platform: "linux",
      address: null,
    });
    assert.ok(await decide(rig, workspace, code, true));
    assert.equal(await decide(rig, workspace, code, true), false);
    assert.equal(await readPairing(rig.db, code, rig.clock.now()), null);
    const said = await poll(rig, pollToken);
    assert.equal(said.status, "approved");
    assert.deepEqual(said.workspace, { id: workspace.id, name: "Work" });
    assert.match(said.sync_token, /^mtr_sync_[\w-]{64}$/);
    assert.deepEqual(await poll(rig, pollToken), { status: "failed" });
    const whoami = await json(rig.call("GET", "/v1/daemon/whoami", said.sync_token));
    assert.equal(whoami.machine.hostname, "laptop");
    assert.equal(whoami.key.scope, "sync");
  });

  it("finds the machine by its fingerprint and revokes its earlier key; without one it creates a new machine", async () => {
    const workspace = await rig.addWorkspace();
    const pair = async (fields: Record<string, unknown>) => {
      const { code, pollToken } = await start(rig, fields);
      await decide(rig, workspace, code, true);
      const { sync_token } = await poll(rig, pollToken);
      return {
        token: sync_token,
        id: (await json(rig.call("GET", "/v1/daemon/whoami", sync_token))).machine.id,
      };
    };
    const first = await pair({});
    const again = await pair({ hostname: "renamed" });
    assert.equal(again.id, first.id);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", first.token)).status, 401);
    const [one, other] = [await pair({ fingerprint: null }), await pair({ fingerprint: null })];
    assert.notEqual(one.id, other.id);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", one.token)).status, 200);
  });

  it("gives two people on one host a machine and a key each, and ends only the earlier key of the same person", async () => {
    const workspace = await rig.addWorkspace();
    const ben = (await rig.personIn(workspace, "member")).userId;
    const pair = async (userId: string) => {
      const { code, pollToken } = await start(rig);
      assert.ok(await decide(rig, workspace, code, true, userId));
      return (await poll(rig, pollToken)).sync_token as string;
    };
    const asked = async (token: string) => {
      const answer = await rig.call("GET", "/v1/daemon/whoami", token);
      return answer.status === 200 ? await json(answer) : answer.status;
    };
    const [ann, bens] = [await pair(workspace.userId), await pair(ben)];
    const [annHere, benHere] = [await asked(ann), await asked(bens)];
    assert.notEqual(annHere.machine.id, benHere.machine.id);
    assert.deepEqual([annHere.user.id, benHere.user.id], [workspace.userId, ben]);
    const again = await pair(ben);
    assert.equal(await asked(bens), 401);
    assert.equal((await asked(again)).machine.id, benHere.machine.id);
    assert.equal((await asked(ann)).machine.id, annHere.machine.id);
  });

  it("gives every machine of a workspace the same key for prompt hashes, once, and other workspaces other keys", async () => {
    const [one, other] = [await rig.addWorkspace(), await rig.addWorkspace()];
    const pair = async (workspace: TestWorkspace) => {
      const { code, pollToken } = await start(rig, { fingerprint: null });
      await decide(rig, workspace, code, true);
      return await poll(rig, pollToken);
    };
    const [first, second] = await Promise.all([pair(one), pair(one)]);
    assert.match(first.prompt_hash_key, /^[0-9a-f]{64}$/);
    assert.equal(first.prompt_hash_key, second.prompt_hash_key);
    assert.notEqual((await pair(other)).prompt_hash_key, first.prompt_hash_key);
    const whoami = await rig.call("GET", "/v1/daemon/whoami", first.sync_token);
    assert.ok(!(await whoami.text()).includes(first.prompt_hash_key));
    assert.ok(!JSON.stringify(rig.log).includes(first.prompt_hash_key));
  });

  it("keeps a blocked machine blocked", async () => {
    const workspace = await rig.addWorkspace();
    const statuses: number[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const { code, pollToken } = await start(rig);
      await decide(rig, workspace, code, true);
      const { sync_token } = await poll(rig, pollToken);
      statuses.push((await rig.call("GET", "/v1/daemon/whoami", sync_token)).status);
      await rig.db
        .updateTable("machines")
        .set({ blocked_at: 1 })
        .where("workspace_id", "=", workspace.id)
        .execute();
    }
    assert.deepEqual(statuses, [200, 403]);
  });

  it("reports denied, expired and failed, and no key of a workspace that was deleted meanwhile", async () => {
    const workspace = await rig.addWorkspace();
    const denied = await start(rig);
    await decide(rig, workspace, denied.code, false);
    assert.deepEqual(await poll(rig, denied.pollToken), { status: "denied" });

    const expired = await start(rig);
    rig.clock.advance(PAIRING_TTL_MS);
    assert.deepEqual(await poll(rig, expired.pollToken), { status: "expired" });
    assert.equal(await decide(rig, workspace, expired.code, true), false);

    const late = await start(rig);
    rig.clock.advance(PAIRING_TTL_MS - 1);
    assert.ok(await decide(rig, workspace, late.code, true));
    rig.clock.advance(60_000);
    assert.equal((await poll(rig, late.pollToken)).status, "approved");

    const orphan = await start(rig);
    await decide(rig, workspace, orphan.code, true);
    await rig.db
      .updateTable("workspaces")
      .set({ deleted_at: 1 })
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.deepEqual(await poll(rig, orphan.pollToken), { status: "failed" });
    assert.deepEqual(await poll(rig, "a".repeat(43)), { status: "failed" });
  });

  it("lets a poll wait for the decision, at most 25 seconds", async () => {
    const workspace = await rig.addWorkspace();
    const { code, pollToken } = await start(rig);
    const settled = async (waiting: Promise<{ status: string }>) => {
      let done = false;
      void waiting.finally(() => (done = true));
      for (let second = 0; !done && second < 40; ) {
        if (rig.clock.nextTimerMs() === null) {
          await new Promise((resolve) => setImmediate(resolve));
          continue;
        }
        rig.clock.advance(1_000);
        second += 1;
      }
      return await waiting;
    };
    const before = rig.clock.now();
    assert.deepEqual(await settled(poll(rig, pollToken)), { status: "pending" });
    assert.equal(rig.clock.now() - before, 25_000);
    // Whatever the wall clock does meanwhile.
    const jumped = poll(rig, pollToken);
    while (rig.clock.nextTimerMs() === null) await new Promise((resolve) => setImmediate(resolve));
    rig.clock.jump(rig.clock.now() - 3_600_000);
    assert.deepEqual(await settled(jumped), { status: "pending" });
    rig.clock.jump(rig.clock.now() + 3_600_000);
    const waiting = poll(rig, pollToken);
    assert.ok(await decide(rig, workspace, code, true));
    assert.equal((await settled(waiting)).status, "approved");
  });

  it("refuses malformed starts with 422, and too many from one address with 429", async () => {
    for (const fields of [{ fingerprint: "xyz" }, { hostname: "" }, { hostname: "a\0b" }, { platform: 7 }]) {
      const answer = await rig.call("POST", "/v1/pairing/start", null, { ...machine, ...fields });
      assert.equal(answer.status, 422, JSON.stringify(fields));
    }
    const app = rig.app({ trustedHops: 1 });
    const from = async (address: string, forwarded = address) =>
      await app.request(
        "/v1/pairing/start",
        { method: "POST", body: JSON.stringify(machine), headers: { "x-forwarded-for": forwarded } },
        { peer: "10.0.0.1" },
      );
    for (let turn = 0; turn < 10; turn += 1) {
      // The client's own claims about its address change nothing.
      assert.equal((await from("", `203.0.113.${turn}, 198.51.100.7`)).status, 201);
    }
    const refused = await from("198.51.100.7");
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "6");
    assert.equal((await from("198.51.100.7:50123")).status, 429);
    assert.equal((await from("198.51.100.8")).status, 201);
    // An IPv6 network has 2^64 addresses.
    for (let turn = 0; turn < 10; turn += 1)
      assert.equal((await from(`2001:db8:1:2:${turn}::1`)).status, 201);
    assert.equal((await from("2001:db8:1:2::77")).status, 429);
    assert.equal((await from("2001:db8:1:3::77")).status, 201);
  });
});

describeOnOneEngine("pairing, in parallel", (engine) => {
  // Planted: the approval read by one statement and used by another. PGlite has one connection and can't show that.
  it("mints exactly one key when 200 polls come at once, and two handshakes of a machine leave one key active", async () => {
    const rig = await createRig(engine, { config, database: { maxConnections: 20 } });
    const workspace = await rig.addWorkspace();
    for (let round = 0; round < 3; round += 1) {
      const tickets = [await start(rig), await start(rig)];
      for (const { code } of tickets) assert.ok(await decide(rig, workspace, code, true));
      const polls = Array.from({ length: 200 }, (_, at) => poll(rig, tickets[at % 2]?.pollToken ?? ""));
      const statuses = (await Promise.all(polls)).map(({ status }) => status);
      // A poll that comes while another one stores the key comes too early.
      for (const status of statuses) assert.match(status, /^(?:approved|failed|pending)$/);
      assert.equal(statuses.filter((status) => status === "approved").length, 2);
      for (const { pollToken } of tickets) assert.equal((await poll(rig, pollToken)).status, "failed");
    }
    const active = await rig.db
      .selectFrom("sync_keys")
      .select(["machine_id"])
      .where("workspace_id", "=", workspace.id)
      .where("machine_id", "!=", workspace.machineId)
      .where("revoked_at", "is", null)
      .execute();
    assert.equal(active.length, 1);
    await rig.close();
  });
});
