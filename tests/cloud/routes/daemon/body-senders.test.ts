import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, it } from "node:test";
import { MAX_BODY_VERSIONS, MAX_EARLIER_BYTES } from "../../../../cloud/store/bodies.ts";
import { auditOf } from "../../kit/audit.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  type TestWorkspace,
  UNLIMITED,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../../kit/engines.ts";
import { bodyPayload, sendBody, sendRequest } from "../../kit/stored-body.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

const post = async (rig: CloudRig, token: string, requestId: string, text: string, fields = {}) => {
  const payload = { ...bodyPayload(requestId, text), ...fields };
  const answer = await rig.call("POST", `/v1/requests/${requestId}/body`, token, payload);
  return [answer.status, answer.status === 204 ? null : (await json(answer)).code];
};

const readAs = async (rig: CloudRig, token: string, requestId: string, query = "") =>
  await json(rig.call("GET", `/v1/traces/${requestId}/body${query}`, token));

/** Everyone in the workspace with a key who did not send the owner's records. */
async function otherKeys(rig: CloudRig, workspace: TestWorkspace): Promise<[who: string, token: string][]> {
  const colleague = (await rig.personIn(workspace, "member")).userId;
  const admin = (await rig.personIn(workspace, "workspaceAdmin")).userId;
  return [
    [
      "a colleague's machine",
      await rig.addKey(workspace, { userId: colleague, machineId: await rig.addMachine(workspace) }),
    ],
    ["an admin's key", await rig.addKey(workspace, { userId: admin, scope: "admin" })],
    ["the author's own admin key", await rig.addKey(workspace, { scope: "admin" })],
    [
      "another machine of the author",
      await rig.addKey(workspace, { machineId: await rig.addMachine(workspace) }),
    ],
  ];
}

describeOnOneEngine("a body and its sender", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  it("accepts a body only from the machine and person that sent the request", async () => {
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const [requestId, without] = [await sendRequest(rig, workspace), await sendRequest(rig, workspace)];
    const others = await otherKeys(rig, workspace);
    assert.deepEqual(await post(rig, workspace.token, requestId, "mine"), [204, null]);
    for (const [who, token] of others) {
      for (const id of [requestId, without]) {
        for (const direction of ["request", "response"]) {
          assert.deepEqual(await post(rig, token, id, "forged", { direction }), [403, "not_the_sender"], who);
        }
      }
    }
    const author = await rig.sessionFor(workspace.userId);
    const body = await readAs(rig, author, requestId);
    assert.deepEqual([body.request.text, body.response], ["mine", null]);
    assert.equal((await rig.call("GET", `/v1/traces/${without}/body`, author)).status, 404);
  });

  it("refuses with the same answer whether or not a body is stored, and whatever it contains", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const [stored, empty] = [await sendRequest(rig, workspace), await sendRequest(rig, workspace)];
    await sendBody(rig, workspace, stored, "mine");
    const [, colleague] = (await otherKeys(rig, workspace))[0] ?? assert.fail();
    const answers = new Set<string>();
    for (const [id, text] of [
      [stored, "mine"],
      [stored, "other"],
      [empty, "mine"],
    ] as const) {
      const answer = await rig.call("POST", `/v1/requests/${id}/body`, colleague, bodyPayload(id, text));
      answers.add(`${answer.status} ${await answer.text()}`);
    }
    assert.equal(answers.size, 1);
  });

  it("accepts a body from the same machine and person with a new key", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    const again = await rig.addKey(workspace);
    assert.deepEqual(await post(rig, workspace.token, requestId, "x"), [401, "unauthorised"]);
    assert.deepEqual(await post(rig, again, requestId, "x"), [204, null]);
  });

  it("accepts the body of a record sent with an admin key only from that person's admin keys", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const [first, second] = [
      await rig.addKey(workspace, { scope: "admin", userId: admin.userId }),
      await rig.addKey(workspace, { scope: "admin", userId: admin.userId }),
    ];
    const requestId = await sendRequest(rig, workspace, {}, first);
    assert.deepEqual(await post(rig, second, requestId, "x"), [204, null]);
    const machineId = await rig.addMachine(workspace);
    const own = await rig.addKey(workspace, { userId: admin.userId, machineId });
    const elses = await rig.addKey(workspace, { scope: "admin" });
    for (const token of [own, elses]) {
      assert.deepEqual(await post(rig, token, requestId, "y"), [403, "not_the_sender"]);
    }
  });

  it("keeps the first write of a side and each later one as a version with its own hash and time", async () => {
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    const author = await rig.sessionFor(workspace.userId);
    const times: string[] = [];
    for (const text of ["first", "second", "third"]) {
      rig.clock.advance(1_000);
      times.push(new Date(rig.clock.now()).toISOString());
      assert.deepEqual(await post(rig, workspace.token, requestId, text), [204, null]);
    }
    await post(rig, workspace.token, requestId, "answer", { direction: "response" });
    const body = await readAs(rig, author, requestId);
    assert.deepEqual(
      [body.request.text, body.request.version, body.request.sha256, body.request.stored_at],
      ["third", 3, hashOf("third"), times[2]],
    );
    assert.deepEqual([body.response.text, body.response.version], ["answer", 1]);
    assert.deepEqual(body.earlier_versions, [
      { direction: "request", version: 1, sha256: hashOf("first"), size_bytes: 5, stored_at: times[0] },
      { direction: "request", version: 2, sha256: hashOf("second"), size_bytes: 6, stored_at: times[1] },
    ]);
    const earlier = await readAs(rig, author, requestId, "?request_version=1");
    assert.deepEqual(
      [earlier.request.text, earlier.request.version, earlier.request.sha256, earlier.response.text],
      ["first", 1, hashOf("first"), "answer"],
    );
    assert.equal((await readAs(rig, author, requestId, "?request_version=3")).request.text, "third");
    for (const query of ["?request_version=4", "?response_version=2", "?request_version=0"]) {
      const answer = await rig.call("GET", `/v1/traces/${requestId}/body${query}`, author);
      assert.equal(answer.status, query.endsWith("0") ? 422 : 404, query);
    }
  });

  it("creates a version if anything differs, and none for an identical resend", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    const versions = async () =>
      (
        await rig.db
          .selectFrom("request_body_versions")
          .select("version")
          .where("request_id", "=", requestId)
          .execute()
      ).length;
    await post(rig, workspace.token, requestId, "same");
    const [before] = await rig.db
      .selectFrom("request_bodies")
      .selectAll()
      .where("request_id", "=", requestId)
      .execute();
    rig.clock.advance(1_000);
    assert.deepEqual(await post(rig, workspace.token, requestId, "same"), [204, null]);
    assert.deepEqual(
      await rig.db.selectFrom("request_bodies").selectAll().where("request_id", "=", requestId).execute(),
      [before],
    );
    assert.equal(await versions(), 0);
    await post(rig, workspace.token, requestId, "same", {
      redaction_applied: true,
      redaction_summary: ["email"],
    });
    assert.equal(await versions(), 1);
  });

  it("writes each replacement into the audit log, with both hashes and who sent it", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    await post(rig, workspace.token, requestId, "one");
    await post(rig, workspace.token, requestId, "one");
    assert.deepEqual(await auditOf(rig, workspace.id), []);
    await post(rig, workspace.token, requestId, "two");
    assert.deepEqual(await auditOf(rig, workspace.id), [
      [
        "body_replaced",
        workspace.userId,
        {
          request_id: requestId,
          direction: "request",
          version: 2,
          old_sha256: hashOf("one"),
          new_sha256: hashOf("two"),
          machine_id: workspace.machineId,
        },
      ],
    ]);
  });

  it("limits the versions of a side in number and in bytes", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const [many, large] = [await sendRequest(rig, workspace), await sendRequest(rig, workspace)];
    for (let at = 0; at < MAX_BODY_VERSIONS; at += 1) {
      assert.deepEqual(await post(rig, workspace.token, many, `version ${at}`), [204, null]);
    }
    assert.deepEqual(await post(rig, workspace.token, many, "one more"), [409, "too_many_versions"]);
    assert.deepEqual(await post(rig, workspace.token, many, "answer", { direction: "response" }), [
      204,
      null,
    ]);
    const size = 1_400_000;
    const fits = Math.floor(MAX_EARLIER_BYTES / size);
    for (let at = 0; at <= fits; at += 1) {
      assert.deepEqual(await post(rig, workspace.token, large, String(at).repeat(size)), [204, null]);
    }
    assert.deepEqual(await post(rig, workspace.token, large, "x"), [409, "too_many_versions"]);
  });

  it("refuses a record with the id of another sender's record, and does not change that record", async () => {
    const workspace = await rig.addWorkspace();
    const requestId = rig.uuid();
    const squat = record(requestId, { project: null, prompt_tokens: 1 });
    const others = await otherKeys(rig, workspace);
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(squat));
    const before = await rig.db
      .selectFrom("requests")
      .selectAll()
      .where("request_id", "=", requestId)
      .execute();
    for (const [who, token] of others) {
      const fresh = rig.uuid();
      const filling = record(requestId.toUpperCase(), { project: "forged", prompt_tokens: 9 });
      for (const sent of [filling, squat]) {
        const answer = await json(rig.call("POST", "/v1/requests/batch", token, batch(sent)));
        assert.deepEqual([answer.accepted, answer.duplicates, answer.rejected.length], [0, 0, 1], who);
        assert.equal(answer.rejected[0].code, "not_the_sender");
        assert.equal(answer.rejected[0].request_id, sent.request_id);
      }
      const mixed = await json(rig.call("POST", "/v1/requests/batch", token, batch(filling, record(fresh))));
      assert.deepEqual([mixed.accepted, mixed.rejected.length], [1, 1], who);
    }
    assert.deepEqual(
      await rig.db.selectFrom("requests").selectAll().where("request_id", "=", requestId).execute(),
      before,
    );
    const own = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(squat)));
    assert.deepEqual([own.accepted, own.duplicates, own.rejected], [0, 1, []]);
  });
});

describeOnOneEngine("the ledger and the versions of a body", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  const begin = async () => {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    await post(rig, workspace.token, requestId, "first");
    await post(rig, workspace.token, requestId, "answer", { direction: "response" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const announce = async () =>
      (
        await json(
          rig.call("POST", "/v1/audit/prompt-views", admin.token, {
            workspace_id: workspace.id,
            request_id: requestId,
            subject_user_id: workspace.userId,
            reason: "audit",
          }),
        )
      ).view_id as string;
    const listed = async () => {
      // Periods end now, exclusively.
      rig.clock.advance(1);
      return (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/audit/prompt-views`, admin.token)))
        .items;
    };
    return { workspace, requestId, admin: admin.token, announce, listed };
  };

  it("records the hashes of the versions that were shown", async () => {
    const { workspace, requestId, admin, listed } = await begin();
    await readAs(rig, admin, requestId, "?reason=why");
    await post(rig, workspace.token, requestId, "second");
    await readAs(rig, admin, requestId, "?reason=why");
    await readAs(rig, admin, requestId, "?reason=why&request_version=1");
    const seen = (await listed()).map((view: Record<string, unknown>) => [
      view.request_sha256,
      view.response_sha256,
    ]);
    assert.deepEqual(seen, [
      [hashOf("first"), hashOf("answer")],
      [hashOf("second"), hashOf("answer")],
      [hashOf("first"), hashOf("answer")],
    ]);
  });

  it("shows an announced view only what the ledger named: 409 once the body was replaced", async () => {
    const { workspace, requestId, admin, announce, listed } = await begin();
    const [outdated, early] = [await announce(), await announce()];
    const read = async (viewId: string, more = "") => {
      const answer = await rig.call("GET", `/v1/traces/${requestId}/body?view_id=${viewId}${more}`, admin);
      const body = await json(answer);
      return [answer.status, body.code ?? body.request.text];
    };
    assert.deepEqual(await read(early), [200, "first"]);
    await post(rig, workspace.token, requestId, "second");
    assert.deepEqual(await read(outdated), [409, "view_outdated"]);
    // A ticket for the version in the ledger can still be used once.
    assert.deepEqual(await read(outdated, "&request_version=1"), [200, "first"]);
    assert.deepEqual(await read(outdated, "&request_version=1"), [422, "view_unknown"]);
    assert.deepEqual(await read(await announce()), [200, "second"]);
    assert.deepEqual(
      (await listed()).map((view: Record<string, unknown>) => view.request_sha256),
      [hashOf("second"), hashOf("first"), hashOf("first")],
    );
  });
});

describeOnPostgres("two writers of one body at once", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED, database: { maxConnections: 12 } });
  });
  after(() => rig.close());

  it("store each text once, as one version after the other, and lose none", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    // Planted: the row read without `for update`; two writers then move the same version, and the primary key refuses one.
    for (let round = 0; round < 10; round += 1) {
      const requestId = await sendRequest(rig, workspace);
      const texts = Array.from({ length: MAX_BODY_VERSIONS }, (_, at) => `text ${at}`);
      const answers = await Promise.all(
        texts.flatMap((text) => [
          post(rig, workspace.token, requestId, text),
          post(rig, workspace.token, requestId, text, { direction: "response" }),
        ]),
      );
      assert.deepEqual(new Set(answers.map(([status]) => status)), new Set([204]));
      const body = await readAs(rig, await rig.sessionFor(workspace.userId), requestId);
      for (const direction of ["request", "response"] as const) {
        const earlier = body.earlier_versions.filter(
          (each: Record<string, unknown>) => each.direction === direction,
        );
        assert.deepEqual(
          [...earlier.map((each: Record<string, unknown>) => each.version), body[direction].version],
          texts.map((_, at) => at + 1),
        );
        assert.deepEqual(
          [...earlier.map((each: Record<string, unknown>) => each.sha256), body[direction].sha256].sort(),
          texts.map(hashOf).sort(),
        );
      }
    }
    assert.equal((await auditOf(rig, workspace.id)).length, 10 * 2 * (MAX_BODY_VERSIONS - 1));
  });
});
