import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { verifyPromptViewLedger } from "../../../../cloud/ledger/verify-ledgers.ts";
import { VIEW_TICKET_TTL_MS } from "../../../../cloud/store/trace-bodies.ts";
import { hashText } from "../../../../core/values/hash-text.ts";
import type { Plan } from "../../../../core/values/plan.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { traceBodySchema } from "../../../../core/wire/traces.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
  UNLIMITED,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../../kit/engines.ts";
import { sendBody, sendRequest } from "../../kit/stored-body.ts";

const DAY = 86_400_000;

const pathOf = (requestId: string, query = "") => `/v1/traces/${requestId}/body${query}`;
const reason = "?reason=incident+12";

async function makeRequest(rig: CloudRig, plan: Plan = "team", fields: Record<string, unknown> = {}) {
  const workspace = await rig.addWorkspace({ plan, storePromptContent: true });
  const requestId = await sendRequest(rig, workspace, fields);
  await sendBody(rig, workspace, requestId, '{"q":1}');
  return { workspace, requestId, author: await rig.sessionFor(workspace.userId) };
}

const ledgerOf = async (rig: CloudRig, { id }: TestWorkspace) =>
  await rig.db.selectFrom("prompt_views").selectAll().where("workspace_id", "=", id).orderBy("seq").execute();

describeOnOneEngine("GET /v1/traces/{request_id}/body", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: { ...UNLIMITED, trustedHops: 1 } });
  });
  after(() => rig.close());

  it("returns the stored body to its author, and records no view", async () => {
    const { workspace, requestId, author } = await makeRequest(rig);
    const response = { direction: "response", content_type: "text/event-stream", truncated: true };
    const redacted = { redaction_applied: true, redaction_summary: ["email"], original_size_bytes: 90 };
    await sendBody(rig, workspace, requestId, "\ufeffa\0é😀", { ...response, ...redacted });
    const answer = await rig.call("GET", pathOf(requestId.toUpperCase()), author);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const body = await json(answer);
    assert.deepEqual(body, {
      request_id: requestId,
      request: {
        content_type: "application/json",
        text: '{"q":1}',
        original_size_bytes: 7,
        truncated: null,
        version: 1,
        sha256: hashText('{"q":1}', sha256),
        stored_at: new Date(START).toISOString(),
      },
      response: {
        content_type: "text/event-stream",
        text: "\ufeffa\0é😀",
        original_size_bytes: 90,
        truncated: true,
        version: 1,
        sha256: hashText("\ufeffa\0é😀", sha256),
        stored_at: new Date(START).toISOString(),
      },
      redaction_applied: true,
      redaction_summary: ["email"],
      captured_at: new Date(START).toISOString(),
      earlier_versions: [],
    });
    assert.ok(parseWire(traceBodySchema, body).ok);
    assert.deepEqual(await ledgerOf(rig, workspace), []);
  });

  it("answers every kind of caller as in the table", async () => {
    const { workspace, requestId, author } = await makeRequest(rig);
    const without = await sendRequest(rig, workspace);
    const old = await makeRequest(rig, "team", { requested_at: new Date(START - 31 * DAY).toISOString() });
    const solo = await makeRequest(rig, "solo");
    const on = async (of: TestWorkspace, standing: Parameters<CloudRig["personIn"]>[1]) =>
      (await rig.personIn(of, standing)).token;
    const admin = await on(workspace, "workspaceAdmin");
    const member = await on(workspace, "member");
    const unknown = rig.uuid();
    const adminKey = await rig.addKey(workspace, { scope: "admin" });
    const rows: [what: string, token: string | null, path: string, status: number, code: string | null][] = [
      ["nobody", null, pathOf(requestId), 401, "unauthorised"],
      ["a sync key", workspace.token, pathOf(requestId), 403, "scope_insufficient"],
      ["the author", author, pathOf(requestId), 200, null],
      ["the author's admin key", adminKey, pathOf(requestId), 200, null],
      [
        "the author, in another workspace",
        author,
        pathOf(requestId, `?workspace_id=${solo.workspace.id}`),
        403,
        "forbidden",
      ],
      ["the author, in no workspace", author, pathOf(requestId, "?workspace_id=x"), 403, "forbidden"],
      ["the author, no body", author, pathOf(without), 404, "body_unknown"],
      ["the author, below the floor", old.author, pathOf(old.requestId), 404, "body_unknown"],
      ["a member", member, pathOf(requestId, reason), 403, "forbidden"],
      ["a member, no body", member, pathOf(without, reason), 403, "forbidden"],
      ["a stranger", solo.author, pathOf(requestId, reason), 403, "forbidden"],
      ["a stranger, nothing there", solo.author, pathOf(unknown, reason), 403, "forbidden"],
      ["a stranger, no id", solo.author, pathOf("x", reason), 403, "forbidden"],
      [
        "an organisation's plain member",
        await on(workspace, "organisationMember"),
        pathOf(requestId, reason),
        403,
        "forbidden",
      ],
      ["an admin", admin, pathOf(requestId, reason), 200, null],
      [
        "an admin of the organisation",
        await on(workspace, "organisationAdmin"),
        pathOf(requestId, reason),
        200,
        null,
      ],
      ["its owner", await on(workspace, "organisationOwner"), pathOf(requestId, reason), 200, null],
      ["an admin, no reason", admin, pathOf(requestId), 422, "reason_missing"],
      ["an admin, a blank reason", admin, pathOf(requestId, "?reason=%20%09"), 422, "reason_missing"],
      [
        "an admin, 2000 characters",
        admin,
        pathOf(requestId, `?reason=+${"%F0%9F%98%80".repeat(2000)}+`),
        200,
        null,
      ],
      [
        "an admin, 2001 characters",
        admin,
        pathOf(requestId, `?reason=${"x".repeat(2001)}`),
        422,
        "reason_missing",
      ],
      ["an admin, a reason with U+0000", admin, pathOf(requestId, "?reason=a%00"), 422, "reason_missing"],
      [
        "an admin, no such view",
        admin,
        pathOf(requestId, `?view_id=${unknown}&reason=x`),
        422,
        "view_unknown",
      ],
      ["an admin, a view that is no id", admin, pathOf(requestId, "?view_id=x"), 422, "view_unknown"],
      ["an admin, no body", admin, pathOf(without), 404, "body_unknown"],
      ["an admin, nothing there", admin, pathOf(unknown, reason), 403, "forbidden"],
      [
        "an admin, below the floor",
        await on(old.workspace, "workspaceAdmin"),
        pathOf(old.requestId, reason),
        404,
        "body_unknown",
      ],
      [
        "an admin on Solo",
        await on(solo.workspace, "workspaceAdmin"),
        pathOf(solo.requestId, reason),
        403,
        "forbidden",
      ],
      [
        "the owner on Solo",
        await on(solo.workspace, "organisationOwner"),
        pathOf(solo.requestId, reason),
        403,
        "forbidden",
      ],
      ["the author on Solo", solo.author, pathOf(solo.requestId), 200, null],
    ];
    for (const [what, token, path, status, code] of rows) {
      const answer = await rig.call("GET", path, token);
      assert.equal(answer.status, status, what);
      if (code !== null) assert.equal((await json(answer)).code, code, what);
    }
    // One row for each 200 that a person other than the author got.
    assert.equal((await ledgerOf(rig, workspace)).length, 4);
    assert.equal((await ledgerOf(rig, solo.workspace)).length, 0);
  });

  it("gives everyone else the same 403, whether or not the request exists", async () => {
    const { workspace, requestId } = await makeRequest(rig);
    const without = await sendRequest(rig, workspace);
    const stranger = (await rig.personIn(workspace, "stranger")).token;
    const member = (await rig.personIn(workspace, "member")).token;
    const seen = new Set<string>();
    for (const token of [stranger, member]) {
      for (const id of [requestId, without, rig.uuid(), "x"]) {
        for (const query of ["", reason, `?workspace_id=${workspace.id}`, "?view_id=x"]) {
          const answer = await rig.call("GET", pathOf(id, query), token);
          const headers = [...answer.headers].filter(([name]) => name !== "x-request-id");
          seen.add(JSON.stringify([answer.status, headers, await answer.text()]));
        }
      }
    }
    assert.equal(seen.size, 1);
  });

  it("ends with the membership", async () => {
    const { workspace, requestId, author } = await makeRequest(rig);
    await rig.db
      .updateTable("memberships")
      .set({ removed_at: START })
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.equal((await rig.call("GET", pathOf(requestId), author)).status, 403);
  });

  it("asks for the workspace only if several of the reader's have the id", async () => {
    const { workspace, requestId, author } = await makeRequest(rig);
    const other = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    await rig.addMember(other, workspace.userId);
    await rig.call("POST", "/v1/requests/batch", other.token, batch(record(requestId)));
    // A member of the other workspace who is neither the author nor an admin there.
    assert.equal((await rig.call("GET", pathOf(requestId), author)).status, 200);
    await rig.db
      .updateTable("memberships")
      .set({ role: "admin" })
      .where("workspace_id", "=", other.id)
      .where("user_id", "=", workspace.userId)
      .execute();
    const answer = await rig.call("GET", pathOf(requestId), author);
    assert.deepEqual([answer.status, (await json(answer)).code], [409, "workspace_ambiguous"]);
    const here = await rig.call(
      "GET",
      pathOf(requestId, `?workspace_id=${workspace.id.toUpperCase()}`),
      author,
    );
    assert.equal((await json(here)).request.text, '{"q":1}');
    const there = await rig.call("GET", pathOf(requestId, `?workspace_id=${other.id}`), author);
    assert.equal(there.status, 404);
  });

  it("records the viewer, the author, the reason, the time, the address and the user agent", async () => {
    const { workspace, requestId } = await makeRequest(rig);
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const answer = await rig.app({ ...UNLIMITED, trustedHops: 1 }).request(pathOf(requestId), {
      headers: {
        authorization: `Bearer ${admin.token}`,
        // UTF-8 as a client sends it in a header: one character per byte.
        "x-prompt-view-reason": `  ${Buffer.from("Störung 12").toString("latin1")} `,
        "x-forwarded-for": "1.2.3.4, 203.0.113.9",
        "user-agent": `Test/1 ${"x".repeat(600)}`,
      },
    });
    assert.equal(answer.status, 200);
    const [row, ...rest] = await ledgerOf(rig, workspace);
    assert.deepEqual(rest, []);
    const { view_id, prev_hash, hash, content_salt, content_hash, ...told } = row ?? assert.fail();
    assert.match(`${content_salt}`, /^[0-9a-f-]{36}$/);
    assert.match(`${content_hash}`, /^[0-9a-f]{64}$/);
    assert.deepEqual(told, {
      workspace_id: workspace.id,
      seq: "1",
      request_id: requestId,
      viewer_user_id: admin.userId,
      subject_user_id: workspace.userId,
      consent_grant_id: null,
      reason: "Störung 12",
      viewed_at: START,
      client_ip: "203.0.113.9",
      user_agent: `Test/1 ${"x".repeat(505)}`,
      request_sha256: hashText('{"q":1}', sha256),
      response_sha256: null,
      erased_at: null,
    });
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.equal(prev_hash, "0".repeat(64));
    // The ticket of such a view is not valid for another request.
    const again = await rig.call("GET", pathOf(requestId, `?view_id=${view_id}`), admin.token);
    assert.equal(again.status, 422);
  });

  it("returns no body without recording the view, and records no view without a body", async () => {
    const { workspace, requestId, author } = await makeRequest(rig);
    const admin = (await rig.personIn(workspace, "workspaceAdmin")).token;
    for (const right of ["insert on prompt_views", "update on prompt_view_heads"]) {
      await sql.raw(`revoke ${right} from meter_app`).execute(rig.owner);
      const answer = await rig.call("GET", pathOf(requestId, reason), admin);
      await sql.raw(`grant ${right} to meter_app`).execute(rig.owner);
      assert.equal(answer.status, 500);
      assert.equal((await json(answer)).code, "internal");
      assert.deepEqual(await ledgerOf(rig, workspace), []);
    }
    await sql.raw("revoke select on request_bodies from meter_app").execute(rig.owner);
    const unread = await rig.call("GET", pathOf(requestId, reason), admin);
    await sql.raw("grant select on request_bodies to meter_app").execute(rig.owner);
    assert.equal(unread.status, 500);
    assert.deepEqual(await ledgerOf(rig, workspace), []);
    assert.equal((await rig.call("GET", pathOf(requestId), author)).status, 200);
  });

  it("accepts a view_id once, from its viewer, for its request, within five minutes", async () => {
    const { workspace, requestId } = await makeRequest(rig);
    const other = await sendRequest(rig, workspace);
    await sendBody(rig, workspace, other, "{}");
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const colleague = await rig.personIn(workspace, "organisationAdmin");
    const announce = async () => {
      const answer = await rig.call("POST", "/v1/audit/prompt-views", admin.token, {
        workspace_id: workspace.id,
        request_id: requestId,
        subject_user_id: workspace.userId,
        reason: "audit",
      });
      assert.equal(answer.status, 201);
      return (await json(answer)).view_id as string;
    };
    const read = async (token: string, id: string, viewId: string) =>
      (await rig.call("GET", pathOf(id, `?view_id=${viewId}`), token)).status;
    const first = await announce();
    assert.equal(await read(colleague.token, requestId, first), 422);
    assert.equal(await read(admin.token, other, first), 422);
    assert.equal(await read(admin.token, requestId, first), 200);
    assert.equal(await read(admin.token, requestId, first), 422);
    const late = await announce();
    rig.clock.advance(VIEW_TICKET_TTL_MS - 1);
    const second = await announce();
    assert.equal(await read(admin.token, requestId, late), 200);
    rig.clock.advance(VIEW_TICKET_TTL_MS);
    assert.equal(await read(admin.token, requestId, second), 422);
    // One row for each announcement, and none for the reads.
    assert.equal((await ledgerOf(rig, workspace)).length, 3);
    await announce();
    const left = await rig.db
      .selectFrom("prompt_view_tickets")
      .select("view_id")
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.equal(left.length, 1);
  });
});

describeOnPostgres("parallel readings of bodies", (engine) => {
  it("are chained one after the other, one row each, and an announced view is used once", async () => {
    const rig = await createRig(engine, { config: UNLIMITED, database: { maxConnections: 12 } });
    const { workspace, requestId } = await makeRequest(rig);
    const admin = (await rig.personIn(workspace, "workspaceAdmin")).token;
    const announced = await json(
      rig.call("POST", "/v1/audit/prompt-views", admin, {
        workspace_id: workspace.id,
        request_id: requestId,
        subject_user_id: workspace.userId,
        reason: "audit",
      }),
    );
    // Planted: the head read without `for update`; rows then had the same predecessor, and the primary key refused them.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) => {
        const query = at % 3 === 0 ? `?view_id=${announced.view_id}` : reason;
        return rig.call("GET", pathOf(requestId, query), admin);
      }),
    );
    const byReason = answers.filter((_, at) => at % 3 !== 0).map(({ status }) => status);
    assert.deepEqual(new Set(byReason), new Set([200]));
    const byTicket = answers.filter((_, at) => at % 3 === 0).map(({ status }) => status);
    assert.deepEqual(byTicket.filter((status) => status === 200).length, 1);
    const verdict = await verifyPromptViewLedger(rig.db, workspace.id, null, sha256);
    assert.ok(verdict.ok);
    assert.equal(verdict.head.seq, 41);
    await rig.close();
  });

  it("show no body that arrived after the setting was turned off", async () => {
    const rig = await createRig(engine, { config: UNLIMITED, database: { maxConnections: 16 } });
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const author = await rig.sessionFor(workspace.userId);
    // A side has a limited number of versions, so each upload goes to the next request.
    const ids = Array.from({ length: 500 }, () => rig.uuid());
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...ids.map((id) => record(id))));
    const setGate = (on: boolean) =>
      rig.db
        .updateTable("workspaces")
        .set({ store_prompt_content: on })
        .where("workspace_id", "=", workspace.id)
        .execute();
    let version = 0;
    // Some uploads begin before the gate changes, and the others after it.
    const startUploads = (count: number) =>
      Array.from({ length: count }, async () => {
        version += 1;
        await sendBody(rig, workspace, ids[version % ids.length] ?? "", String(version));
      });
    for (let round = 0; round < 12; round += 1) {
      const uploads = startUploads(4);
      await Promise.all([setGate(true), ...startUploads(4)]);
      uploads.push(...startUploads(6));
      await setGate(false);
      // Later uploads have a higher number.
      const last = version;
      await Promise.all([...uploads, ...startUploads(8)]);
      for (let at = last - 14; at <= version; at += 1) {
        const id = ids[(at + ids.length) % ids.length] ?? "";
        const answer = await rig.call("GET", pathOf(id), author);
        if (answer.status === 200) assert.ok(Number((await json(answer)).request.text) <= last);
      }
    }
    await rig.close();
  });
});
