import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { whoamiSchema } from "../../../../core/wire/daemon.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { machinesSchema, pairingCodeViewSchema } from "../../../../core/wire/people.ts";
import { auditOf } from "../../kit/audit.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { bodyPayload, sendRequest } from "../../kit/stored-body.ts";

const config = {
  rateLimits: { perUser: 1e6, perKey: 1e6, pairingPerAddress: 1e6, pollPerAddress: 1e6 },
  trustedHops: 1,
};
const machine = { fingerprint: null, hostname: "laptop", platform: "linux", daemon_version: "0.4.0" };

describeOnOneEngine("deciding on a pairing", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  async function start(): Promise<{
    code: string;
    poll: () => Promise<{ status: string; sync_token: string; user: { id: string; name: string } }>;
  }> {
    const ticket = await json(rig.call("POST", "/v1/pairing/start", null, machine));
    return {
      code: ticket.code,
      poll: () => json(rig.call("POST", "/v1/pairing/poll", null, { poll_token: ticket.poll_token })),
    };
  }

  /** An instance that has counted no wrong codes, called from an address. */
  function fromAddress() {
    const app = rig.app(config);
    return async (method: string, path: string, token: string, address: string, body?: unknown) =>
      await app.request(path, {
        method,
        headers: { authorization: `Bearer ${token}`, "x-forwarded-for": address },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
  }

  it("shows a member the machine, and creates a key for the chosen workspace", async () => {
    const workspace = await rig.addWorkspace();
    const member = await rig.personIn(workspace, "member");
    const { code, poll } = await start();
    const typed = code.toLowerCase().replace("-", " ");
    const shown = await json(rig.call("GET", `/v1/pairing/codes/${encodeURIComponent(typed)}`, member.token));
    assert.ok(parseWire(pairingCodeViewSchema, shown).ok);
    assert.deepEqual(shown, { code, hostname: "laptop", platform: "linux", address: null });
    const decision = { code: typed, workspace_id: workspace.id };
    assert.equal((await rig.call("POST", "/v1/pairing/approve", member.token, decision)).status, 204);
    assert.equal((await rig.call("POST", "/v1/pairing/approve", member.token, decision)).status, 404);
    const { status, sync_token } = await poll();
    assert.equal(status, "approved");
    const whoami = await json(rig.call("GET", "/v1/daemon/whoami", sync_token));
    assert.equal(whoami.workspace.id, workspace.id);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind, userId]) => [kind, userId]),
      [["machine_paired", member.userId]],
    );
  });

  it("makes the member whom an admin names the author, and the admin only the one who approved", async () => {
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const ben = await rig.personIn(workspace, "member");
    const { code, poll } = await start();
    const decision = { code, workspace_id: workspace.id, user_id: ben.userId };
    assert.equal((await rig.call("POST", "/v1/pairing/approve", admin.token, decision)).status, 204);
    const { sync_token, user } = await poll();
    assert.deepEqual(user, { id: ben.userId, name: "member" });
    const whoami = await json(rig.call("GET", "/v1/daemon/whoami", sync_token));
    assert.ok(parseWire(whoamiSchema, whoami).ok);
    assert.deepEqual(whoami.user, user);
    const { items } = await json(rig.call("GET", `/v1/workspaces/${workspace.id}/machines`, ben.token));
    assert.ok(parseWire(machinesSchema, { items }).ok);
    const listed = items.find((each: { id: string }) => each.id === whoami.machine.id);
    assert.deepEqual([listed.user.id, listed.approved_by.id], [ben.userId, admin.userId]);
    const [event] = await auditOf(rig, workspace.id);
    assert.deepEqual(
      [event?.[0], event?.[1], event?.[2].user_id],
      ["machine_paired", admin.userId, ben.userId],
    );

    // Its prompts belong to the member: the admin reads them as a teammate's, with a reason and a row in the ledger.
    const requestId = await sendRequest(rig, workspace, {}, sync_token);
    await rig.call("POST", `/v1/requests/${requestId}/body`, sync_token, bodyPayload(requestId, "hello"));
    const read = async (token: string, query = "") =>
      (await rig.call("GET", `/v1/traces/${requestId}/body${query}`, token)).status;
    assert.deepEqual([await read(ben.token), await read(admin.token)], [200, 422]);
    assert.equal(await read(admin.token, "?reason=incident"), 200);
    const views = await rig.db
      .selectFrom("prompt_views")
      .select(["viewer_user_id", "subject_user_id"])
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.deepEqual(views, [{ viewer_user_id: admin.userId, subject_user_id: ben.userId }]);
  });

  it("lets a member name no other person, and an admin only members, with any code", async () => {
    const workspace = await rig.addWorkspace();
    const [admin, ann, ben] = [
      await rig.personIn(workspace, "workspaceAdmin"),
      await rig.personIn(workspace, "member"),
      await rig.personIn(workspace, "member"),
    ];
    const stranger = await rig.personIn(workspace, "stranger");
    const { code, poll } = await start();
    const approve = async (token: string, user_id: string | null, typed = code) => {
      const decision = { code: typed, workspace_id: workspace.id, user_id };
      const answer = await rig.call("POST", "/v1/pairing/approve", token, decision);
      return answer.status === 204 ? 204 : (await json(answer)).code;
    };
    for (const typed of [code, "0000-0000"]) {
      assert.equal(await approve(ann.token, ben.userId, typed), "forbidden");
      assert.equal(await approve(admin.token, stranger.userId, typed), "member_unknown");
      assert.equal(await approve(admin.token, "nobody", typed), "member_unknown");
    }
    assert.equal(await approve(ann.token, ann.userId), 204);
    assert.equal((await poll()).user.id, ann.userId);
  });

  it("can be denied by a member, and by no one for a workspace that is not theirs", async () => {
    const workspace = await rig.addWorkspace();
    const member = await rig.personIn(workspace, "member");
    const stranger = await rig.personIn(workspace, "stranger");
    const { code, poll } = await start();
    const decision = { code, workspace_id: workspace.id };
    for (const path of ["/v1/pairing/approve", "/v1/pairing/deny"]) {
      assert.equal((await json(rig.call("POST", path, stranger.token, decision))).code, "not_found");
    }
    assert.equal((await rig.call("POST", "/v1/pairing/deny", member.token, decision)).status, 204);
    assert.equal((await poll()).status, "denied");
    for (const body of [{ code }, { ...decision, code: "short" }, { ...decision, workspace_id: 7 }]) {
      assert.equal((await rig.call("POST", "/v1/pairing/approve", member.token, body)).status, 422);
    }
  });

  it("is locked for ten minutes after five wrong codes, by person and by address, while the code stays valid", async () => {
    const workspace = await rig.addWorkspace();
    const guesser = await rig.personIn(workspace, "member");
    const honest = await rig.personIn(workspace, "member");
    const call = fromAddress();
    const { code, poll } = await start();
    const guess = (token: string, address: string, typed = "0000-0000") =>
      call("POST", "/v1/pairing/approve", token, address, { code: typed, workspace_id: workspace.id });
    // A right code between them does not reset the count.
    assert.equal((await guess(guesser.token, "198.51.100.1")).status, 404);
    const own = await start();
    assert.equal((await guess(guesser.token, "198.51.100.1", own.code)).status, 204);
    for (let turn = 0; turn < 3; turn += 1)
      assert.equal((await guess(guesser.token, "198.51.100.1")).status, 404);
    assert.equal((await call("GET", "/v1/pairing/codes/xyz", guesser.token, "198.51.100.1")).status, 404);
    const locked = await guess(guesser.token, "198.51.100.1", code);
    assert.equal(locked.status, 429);
    assert.equal(locked.headers.get("retry-after"), "600");
    // The person from another address, and others from that address.
    assert.equal((await guess(guesser.token, "198.51.100.2", code)).status, 429);
    assert.equal((await guess(honest.token, "198.51.100.1", code)).status, 429);
    assert.equal((await call("GET", `/v1/pairing/codes/${code}`, guesser.token, "198.51.100.9")).status, 429);
    assert.equal((await guess(honest.token, "198.51.100.3", code)).status, 204);
    assert.equal((await poll()).status, "approved");
    rig.clock.advance(600_000);
    assert.equal((await guess(guesser.token, "198.51.100.1")).status, 404);
  });

  it("counts five simultaneous wrong codes, and refuses the sixth", async () => {
    const workspace = await rig.addWorkspace();
    const guesser = await rig.personIn(workspace, "member");
    const call = fromAddress();
    const body = { code: "0000-0000", workspace_id: workspace.id };
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, turn) =>
        turn % 2 === 0
          ? call("GET", "/v1/pairing/codes/0000-0000", guesser.token, "198.51.100.7")
          : call("POST", "/v1/pairing/deny", guesser.token, "198.51.100.7", body),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 404).length, 5);
    assert.equal(answers.filter(({ status }) => status === 429).length, 25);
  });

  it("counts neither correct codes nor malformed ones", async () => {
    const workspace = await rig.addWorkspace();
    const member = await rig.personIn(workspace, "member");
    const call = fromAddress();
    const { code } = await start();
    const deny = (body: unknown) => call("POST", "/v1/pairing/deny", member.token, "198.51.100.8", body);
    for (let turn = 0; turn < 6; turn += 1) {
      const shown = await call("GET", `/v1/pairing/codes/${code}`, member.token, "198.51.100.8");
      assert.equal(shown.status, 200);
      assert.equal((await deny({ code: "0000-0000", workspace_id: rig.uuid() })).status, 404);
      assert.equal((await deny({ code: "short" })).status, 422);
    }
    assert.equal((await deny({ code, workspace_id: workspace.id })).status, 204);
  });
});
