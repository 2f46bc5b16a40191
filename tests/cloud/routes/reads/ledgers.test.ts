import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { verifyPromptViewLedger } from "../../../../cloud/ledger/verify-ledgers.ts";
import { readChainHead } from "../../../../cloud/store/chain-heads.ts";
import { inScope } from "../../../../cloud/store/transaction.ts";
import { wordingHash } from "../../../../core/privacy/consent/checkout-consent.ts";
import { hashText } from "../../../../core/values/hash-text.ts";
import { auditEventsSchema, promptViewsSchema } from "../../../../core/wire/audit.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { type CloudRig, createRig, json, START, type TestWorkspace } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { sendBody, sendRequest } from "../../kit/stored-body.ts";

const STRINGS = ["I agree to the Terms.", "I ask for immediate performance."];
const EARLIER = "e".repeat(64);
const config = {
  rateLimits: { perKey: 1e9, perUser: 1e9 },
  checkoutWording: { strings: STRINGS, earlierHashes: [EARLIER] },
};
const DAY = 86_400_000;
const iso = (at: number) => new Date(at).toISOString();

/** A workspace with a request by its member, and an admin. */
async function open(rig: CloudRig, plan: "solo" | "team" | "business" = "business") {
  const workspace = await rig.addWorkspace({ plan, storePromptContent: true });
  const requestId = await sendRequest(rig, workspace);
  await sendBody(rig, workspace, requestId, "{}");
  return { workspace, requestId, admin: await rig.personIn(workspace, "workspaceAdmin") };
}

type Opened = Awaited<ReturnType<typeof open>>;

const readHead = ({ db }: CloudRig, workspaceId: string) =>
  inScope(db, { workspaceId }, (trx) => readChainHead(trx, "prompt_view_heads", workspaceId));

const view = ({ workspace, requestId }: Opened, fields: Record<string, unknown> = {}) => ({
  workspace_id: workspace.id,
  request_id: requestId,
  subject_user_id: workspace.userId,
  reason: "incident 12",
  ...fields,
});

const ledgerOf = async (rig: CloudRig, { id }: TestWorkspace) =>
  await rig.db.selectFrom("prompt_views").selectAll().where("workspace_id", "=", id).orderBy("seq").execute();

describeOnOneEngine("POST /v1/audit/prompt-views", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());
  const post = (token: string | null, body: unknown) =>
    rig.call("POST", "/v1/audit/prompt-views", token, body);

  it("records the facts of the session and the server, whatever the payload says", async () => {
    const opened = await open(rig, "team");
    const answer = await post(
      opened.admin.token,
      view(opened, {
        workspace_id: opened.workspace.id.toUpperCase(),
        request_id: opened.requestId.toUpperCase(),
        viewer_user_id: "somebody-else",
        viewed_at: "2001-01-01T00:00:00Z",
        client_ip: "6.6.6.6",
        user_agent: "forged",
        consent_grant_id: "grant-1",
        reason: "  why  ",
        seq: 99,
        hash: "f".repeat(64),
        view_id: "x",
      }),
    );
    assert.equal(answer.status, 201);
    const { view_id, ...rest } = await json(answer);
    assert.deepEqual(rest, { viewed_at: iso(START) });
    const [row] = await ledgerOf(rig, opened.workspace);
    const {
      hash: _,
      prev_hash: _prev,
      content_hash: _hash,
      content_salt: _salt,
      ...told
    } = row ?? assert.fail();
    assert.deepEqual(told, {
      workspace_id: opened.workspace.id,
      seq: "1",
      view_id,
      request_id: opened.requestId,
      viewer_user_id: opened.admin.userId,
      subject_user_id: opened.workspace.userId,
      consent_grant_id: "grant-1",
      reason: "why",
      viewed_at: START,
      client_ip: null,
      user_agent: null,
      request_sha256: hashText("{}", sha256),
      response_sha256: null,
      erased_at: null,
    });
  });

  it("records the address and the user agent of the announcement, cut to 512 characters", async () => {
    const opened = await open(rig, "team");
    const answer = await rig.app({ ...config, trustedHops: 1 }).request("/v1/audit/prompt-views", {
      method: "POST",
      headers: {
        authorization: `Bearer ${opened.admin.token}`,
        "content-type": "application/json",
        "x-forwarded-for": "1.2.3.4, 203.0.113.9",
        "user-agent": `Test/1 ${"x".repeat(600)}`,
      },
      body: JSON.stringify(view(opened, { client_ip: "6.6.6.6", user_agent: "forged" })),
    });
    assert.equal(answer.status, 201);
    const [row] = await ledgerOf(rig, opened.workspace);
    assert.deepEqual([row?.client_ip, row?.user_agent], ["203.0.113.9", `Test/1 ${"x".repeat(505)}`]);
  });

  it("answers each caller as the table states", async () => {
    const team = await open(rig, "team");
    const solo = await open(rig, "solo");
    const old = await sendRequest(rig, team.workspace, { requested_at: iso(START - 31 * DAY) });
    const author = await rig.sessionFor(team.workspace.userId);
    const member = (await rig.personIn(team.workspace, "member")).token;
    const { token } = team.admin;
    const rows: [what: string, token: string | null, body: unknown, status: number, code: string | null][] = [
      ["nobody", null, view(team), 401, "unauthorised"],
      ["a sync key", team.workspace.token, view(team), 403, "scope_insufficient"],
      ["an admin", token, view(team), 201, null],
      ["the author", author, view(team), 201, null],
      [
        "an admin of another workspace's key",
        await rig.addKey(solo.workspace, { scope: "admin" }),
        view(team),
        403,
        "forbidden",
      ],
      ["a member", member, view(team), 403, "forbidden"],
      ["a stranger", solo.admin.token, view(team), 403, "forbidden"],
      ["an admin on Solo", solo.admin.token, view(solo), 403, "plan_required"],
      ["an unknown request", token, view(team, { request_id: rig.uuid() }), 403, "forbidden"],
      ["another tenant's request", token, view(team, { request_id: solo.requestId }), 403, "forbidden"],
      ["no workspace", token, view(team, { workspace_id: "x" }), 403, "forbidden"],
      ["below the floor", token, view(team, { request_id: old }), 404, "request_unknown"],
      ["another's request", token, view(team, { subject_user_id: "ben" }), 422, "subject_mismatch"],
      ["no reason", token, view(team, { reason: " " }), 422, "wrong_shape"],
      ["2000 characters", token, view(team, { reason: "😀".repeat(2000) }), 201, null],
      ["2001 characters", token, view(team, { reason: "x".repeat(2001) }), 422, "wrong_shape"],
      ["no JSON", token, "{", 400, "not_json"],
      ["no object", token, "[]", 400, "not_an_object"],
      ["too large", token, " ".repeat(70_000), 413, "too_large"],
    ];
    for (const [what, as, body, status, code] of rows) {
      const answer = await post(as, body);
      assert.equal(answer.status, status, what);
      if (code !== null) assert.equal((await json(answer)).code, code, what);
    }
    assert.equal((await ledgerOf(rig, team.workspace)).length, 3);
  });
});

describeOnOneEngine("the Audit surface", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  const get = (token: string | null, { id }: TestWorkspace, path: string) =>
    rig.call("GET", `/v1/workspaces/${id}/audit/${path}`, token);

  it("lists views, the last one first, by page, period, viewer and subject", async () => {
    const opened = await open(rig);
    const { workspace, admin } = opened;
    const owner = await rig.personIn(workspace, "organisationOwner");
    for (const [index, { token }] of [admin, owner, admin, owner, admin].entries()) {
      const body = view(opened, { reason: `view ${index + 1}` });
      assert.equal((await rig.call("POST", "/v1/audit/prompt-views", token, body)).status, 201);
      rig.clock.advance(1_000);
    }
    const reasons = async (query: string) =>
      (await json(get(admin.token, workspace, `prompt-views?${query}`))).items.map(
        ({ reason }: { reason: string }) => reason.slice(5),
      );
    const all = await json(get(admin.token, workspace, "prompt-views"));
    assert.ok(parseWire(promptViewsSchema, all).ok);
    assert.deepEqual([all.clamped_from, all.next_cursor], [null, null]);
    assert.deepEqual(await reasons(""), ["5", "4", "3", "2", "1"]);
    assert.deepEqual(await reasons(`viewer=${owner.userId}`), ["4", "2"]);
    assert.deepEqual(await reasons(`subject=${workspace.userId}`), ["5", "4", "3", "2", "1"]);
    assert.deepEqual(await reasons("subject=nobody"), []);
    const start = rig.clock.now() - 5_000;
    assert.deepEqual(await reasons(`from=${iso(start + 1_000)}&to=${iso(start + 3_000)}`), ["3", "2"]);
    const seen: number[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query = `limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const page = await json(get(admin.token, workspace, `prompt-views?${query}`));
      for (const { seq } of page.items) seen.push(seq);
      cursor = page.next_cursor;
    }
    assert.deepEqual(seen, [5, 4, 3, 2, 1]);
    const member = (await rig.personIn(workspace, "member")).token;
    assert.equal((await get(member, workspace, "prompt-views")).status, 403);
    assert.equal((await get(member, workspace, "requests")).status, 200);
    const stranger = (await rig.personIn(workspace, "stranger")).token;
    assert.equal((await get(stranger, workspace, "prompt-views")).status, 404);
  });

  it("goes back as far as the audit log's retention, and states the clamped start", async () => {
    const opened = await open(rig);
    const { workspace, admin } = opened;
    await rig.call("POST", "/v1/audit/prompt-views", admin.token, view(opened));
    await rig.db
      .updateTable("workspaces")
      .set({ audit_log_retention_days: 2 })
      .where("workspace_id", "=", workspace.id)
      .execute();
    const viewedAt = rig.clock.now();
    rig.clock.advance(2 * DAY);
    const from = iso(viewedAt - 1);
    const at = async (path: string) => await json(get(admin.token, workspace, path));
    const atFloor = await at(`prompt-views?from=${from}`);
    assert.deepEqual([atFloor.items.length, atFloor.clamped_from], [1, from]);
    rig.clock.advance(1);
    assert.equal((await at(`prompt-views?from=${from}`)).items.length, 0);
    assert.equal((await at(`events?from=${from}`)).clamped_from, from);
    assert.equal((await at(`requests?from=${from}`)).clamped_from, from);
    assert.equal((await at("events")).clamped_from, null);
  });

  it("lists events, the newest first, to admins", async () => {
    const { workspace, admin } = await open(rig);
    const now = rig.clock.now();
    for (const index of [1, 2, 3]) {
      await sql`insert into audit_events values (${workspace.id}::uuid, ${rig.uuid()}::uuid,
        ${now - index * 1_000}::timestamptz, 'settings_changed', 'ann', '{"field":"x"}',
        ${now + DAY}::timestamptz)`.execute(rig.db);
    }
    const list = await json(get(admin.token, workspace, "events?limit=2"));
    assert.ok(parseWire(auditEventsSchema, list).ok);
    assert.deepEqual(
      list.items.map(({ event_id: _id, ...item }: { event_id: string }) => item),
      [1, 2].map((index) => ({
        at: iso(now - index * 1_000),
        kind: "settings_changed",
        actor_user_id: "ann",
        details: { field: "x" },
        retain_until: iso(now + DAY),
      })),
    );
    const rest = await json(get(admin.token, workspace, `events?limit=2&cursor=${list.next_cursor}`));
    assert.deepEqual([rest.items.length, rest.next_cursor], [1, null]);
    const member = (await rig.personIn(workspace, "member")).token;
    assert.equal((await get(member, workspace, "events")).status, 403);
  });
});

describeOnOneEngine("verifyPromptViewLedger()", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("finds every detectable change that a superuser makes to the rows", async () => {
    const rows: [what: string, statement: string, withoutHead: string | null, withHead: string][] = [
      ["a field", "update prompt_views set reason = 'x' where seq = 2", "row_changed 2", "row_changed 2"],
      [
        "a time",
        "update prompt_views set viewed_at = '2026-11-21T11:59:59.999Z' where seq = 3",
        "row_changed 3",
        "row_changed 3",
      ],
      [
        "a hash",
        "update prompt_views set hash = repeat('a', 64) where seq = 1",
        "row_changed 1",
        "row_changed 1",
      ],
      ["a row deleted", "delete from prompt_views where seq = 2", "out_of_sequence 2", "out_of_sequence 2"],
      [
        "two rows swapped",
        "update prompt_views set seq = case seq when 1 then 12 when 2 then 11 end where seq < 3; update prompt_views set seq = seq - 10 where seq > 10",
        "link_broken 1",
        "link_broken 1",
      ],
      ["the tail cut", "delete from prompt_views where seq = 4", "tail_cut 4", "tail_cut 4"],
      [
        "the tail and the head cut",
        "delete from prompt_views where seq = 4; update prompt_view_heads h set seq = 3, hash = v.hash from prompt_views v where v.workspace_id = h.workspace_id and v.seq = 3",
        null,
        "tail_cut 4",
      ],
      [
        "the head set back",
        "update prompt_view_heads h set seq = 3, hash = v.hash from prompt_views v where v.workspace_id = h.workspace_id and v.seq = 3",
        "out_of_sequence 4",
        "out_of_sequence 4",
      ],
      ["all of it", "delete from prompt_views; delete from prompt_view_heads", null, "tail_cut 1"],
    ];
    for (const [what, statements, withoutHead, withHead] of rows) {
      const opened = await open(rig);
      for (let index = 0; index < 4; index += 1) {
        await rig.call("POST", "/v1/audit/prompt-views", opened.admin.token, view(opened));
      }
      const { id } = opened.workspace;
      const head = await readHead(rig, id);
      assert.equal(head.seq, 4);
      const verify = async (saved: typeof head | null) => {
        const verdict = await verifyPromptViewLedger(rig.db, id, saved, sha256);
        return verdict.ok ? null : `${verdict.fault} ${verdict.seq}`;
      };
      assert.equal(await verify(head), null);
      // Only of this workspace, since the other chains must stay intact.
      for (const statement of statements.split("; ")) {
        const where = statement.includes("where") ? "and" : "where";
        const table = statement.includes(" h set") ? "h.workspace_id" : "workspace_id";
        await sql.raw(`${statement} ${where} ${table} = '${id}'`).execute(rig.db);
      }
      assert.equal(await verify(null), withoutHead, what);
      assert.equal(await verify(head), withHead, what);
    }
  });

  it("accepts a workspace without views", async () => {
    const { id } = await rig.addWorkspace();
    assert.equal((await readHead(rig, id)).seq, 0);
    assert.ok((await verifyPromptViewLedger(rig.db, id, null, sha256)).ok);
  });
});

describeOnOneEngine("/v1/consent/checkout", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());
  const hash = wordingHash(STRINGS, sha256);
  const consent = (fields: Record<string, unknown> = {}) => ({
    plan: "team",
    period: "annual",
    wording_hash: hash,
    agreed_terms: true,
    agreed_immediate: true,
    ...fields,
  });

  it("returns the wording and its hash", async () => {
    const shown = await json(rig.call("GET", "/v1/consent/checkout", null));
    assert.deepEqual(shown, { strings: STRINGS, wording_hash: hash });
  });

  it("stores the person, time and address as known to the session and the server", async () => {
    const userId = await rig.addPerson();
    const token = await rig.sessionFor(userId);
    const forged = {
      user_id: "x",
      ip: "6.6.6.6",
      timestamp: "2001-01-01T00:00:00Z",
      user_agent: "x",
      consent_id: "x",
    };
    const rows: [hops: number, forwardedFor: string | undefined, ip: string | null][] = [
      [0, undefined, "192.0.2.1"],
      [0, "1.2.3.4", "192.0.2.1"],
      [1, "1.2.3.4, 203.0.113.9", "203.0.113.9"],
      [2, "1.2.3.4, 203.0.113.9, 10.0.0.1", "203.0.113.9"],
    ];
    for (const [trustedHops, forwardedFor, ip] of rows) {
      const answer = await rig.app({ ...config, trustedHops }).request(
        "/v1/consent/checkout",
        {
          method: "POST",
          body: JSON.stringify(consent(forged)),
          headers: {
            authorization: `Bearer ${token}`,
            "user-agent": "é".repeat(600),
            ...(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }),
          },
        },
        { peer: "192.0.2.1" },
      );
      assert.equal(answer.status, 201);
      const { id, timestamp } = await json(answer);
      assert.equal(timestamp, iso(START));
      const row = await rig.db
        .selectFrom("checkout_consent_records")
        .selectAll()
        .where("consent_id", "=", id)
        .executeTakeFirst();
      assert.deepEqual(row, {
        consent_id: id,
        user_id: userId,
        plan: "team",
        period: "annual",
        wording_hash: hash,
        ip,
        user_agent: "é".repeat(512),
        timestamp: START,
      });
    }
  });

  it("rejects a missing tick, an unknown wording, and callers without a session", async () => {
    const workspace = await rig.addWorkspace();
    const token = await rig.sessionFor(workspace.userId);
    const rows: [what: string, token: string | null, body: unknown, status: number, code: string | null][] = [
      ["both ticks", token, consent(), 201, null],
      ["an earlier wording", token, consent({ wording_hash: EARLIER }), 201, null],
      ["no terms", token, consent({ agreed_terms: false }), 422, "tick_missing"],
      ["no waiver", token, consent({ agreed_immediate: undefined }), 422, "tick_missing"],
      ["a tick that is a word", token, consent({ agreed_terms: "true" }), 422, "wrong_shape"],
      ["another wording", token, consent({ wording_hash: "0".repeat(64) }), 422, "wording_unknown"],
      ["no hash", token, consent({ wording_hash: "x" }), 422, "wrong_shape"],
      ["no such plan", token, consent({ plan: "gold" }), 422, "wrong_shape"],
      ["no such period", token, consent({ period: "weekly" }), 422, "wrong_shape"],
      ["no JSON", token, "", 400, "not_json"],
      ["nobody", null, consent(), 401, "unauthorised"],
      ["a sync key", workspace.token, consent(), 403, "scope_insufficient"],
      ["an admin key", await rig.addKey(workspace, { scope: "admin" }), consent(), 403, "scope_insufficient"],
    ];
    for (const [what, as, body, status, code] of rows) {
      const answer = await rig.call("POST", "/v1/consent/checkout", as, body);
      assert.equal(answer.status, status, what);
      if (code !== null) assert.equal((await json(answer)).code, code, what);
    }
    const stored = await rig.db
      .selectFrom("checkout_consent_records")
      .select("user_id")
      .where("user_id", "=", workspace.userId)
      .execute();
    assert.equal(stored.length, 2);
  });
});
