import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type Selectable, sql } from "kysely";
import { MAX_SIGHTINGS, ORPHAN_AFTER_MS, SIGHTING_TTL_MS } from "../../../../cloud/store/bodies.ts";
import { openBody } from "../../../../cloud/store/body-cipher.ts";
import type { CloudSchema } from "../../../../cloud/store/schema.ts";
import { encodeBase64 } from "../../../../core/wire/base64.ts";
import { batch, type CloudRig, createRig, json, record, type TestWorkspace } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

/** The number of simultaneous uploads. */
const UPLOADS = 16;

const config = { rateLimits: { perKey: 1e6 } };

const bytesOf = (text: string) => new TextEncoder().encode(text);

function envelope(requestId: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    request_id: requestId,
    direction: "request",
    content_type: "application/json",
    body_b64: encodeBase64(bytesOf("{}")),
    redaction_applied: false,
    redaction_summary: [],
    original_size_bytes: 2,
    ...fields,
  };
}

const pathOf = (requestId: string) => `/v1/requests/${requestId}/body`;

const gate = async ({ db }: CloudRig, { id }: TestWorkspace, on: boolean) => {
  await db
    .updateTable("workspaces")
    .set({ store_prompt_content: on })
    .where("workspace_id", "=", id)
    .execute();
};

describeOnOneEngine("POST /v1/requests/{id}/body", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  const post = (workspace: TestWorkspace, requestId: string, body: unknown = envelope(requestId)) =>
    rig.call("POST", pathOf(requestId), workspace.token, body);
  /** The stored bodies, decrypted. */
  const stored = async ({ id }: TestWorkspace) => {
    const rows = await rig.db
      .selectFrom("request_bodies")
      .selectAll()
      .where("workspace_id", "=", id)
      .execute();
    return await Promise.all(
      rows.map(async (row) => ({
        ...row,
        request_body: await opened(row, "request"),
        response_body: await opened(row, "response"),
      })),
    );
  };
  const opened = async (
    row: Selectable<CloudSchema["request_bodies"]>,
    direction: "request" | "response",
  ) => {
    const [sealed, keyId] = [row[`${direction}_body`], row[`${direction}_key_id`]];
    if (sealed === null) return null;
    const key = rig.bodyKeys.stored.get(keyId ?? "");
    assert.ok(key);
    const place = { workspaceId: row.workspace_id, requestId: row.request_id, direction };
    return await openBody(sealed, key, place);
  };
  const synced = async (workspace: TestWorkspace) => {
    const requestId = rig.uuid();
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(requestId)));
    return requestId;
  };

  it("checks in the specification's order and answers with the first failure", async () => {
    const on = await rig.addWorkspace({ storePromptContent: true });
    const off = await rig.addWorkspace();
    const [mine, unknown] = [await synced(on), rig.uuid()];
    const huge = " ".repeat(2_097_153);
    const notUtf8 = encodeBase64(new Uint8Array([0xff]));
    const rows: [
      what: string,
      token: string | null,
      id: string,
      body: unknown,
      status: number,
      code: string | null,
    ][] = [
      ["no token, too large, gate off", null, unknown, huge, 401, "unauthorised"],
      ["too large, gate off", off.token, unknown, huge, 413, "too_large"],
      ["gate off, no JSON", off.token, unknown, "{", 200, null],
      ["gate off, not even UTF-8", off.token, unknown, new Uint8Array([0xff, 0xfe]), 200, null],
      ["gate off, nothing", off.token, unknown, "", 200, null],
      ["gate off, the path no UUID", off.token, "x", envelope(unknown), 200, null],
      ["gate off, another workspace's request", off.token, mine, envelope(mine), 200, null],
      ["no JSON", on.token, unknown, "{", 400, "not_json"],
      [
        "another shape, and wrong Base64",
        on.token,
        unknown,
        envelope(unknown, { direction: "up", body_b64: "!" }),
        422,
        "wrong_shape",
      ],
      ["the path's id is another", on.token, mine, envelope(unknown, { body_b64: "!" }), 422, "wrong_shape"],
      [
        "wrong Base64, unknown request",
        on.token,
        unknown,
        envelope(unknown, { body_b64: "a" }),
        400,
        "invalid_base64",
      ],
      [
        "Base64 with bits that no byte needs",
        on.token,
        mine,
        envelope(mine, { body_b64: "QR==" }),
        400,
        "invalid_base64",
      ],
      [
        "not UTF-8, unknown request",
        on.token,
        unknown,
        envelope(unknown, { body_b64: notUtf8 }),
        400,
        "invalid_utf8",
      ],
      ["unknown request", on.token, unknown, envelope(unknown), 425, "request_not_synced"],
      ["all well", on.token, mine, envelope(mine), 204, null],
    ];
    for (const [what, token, id, body, status, code] of rows) {
      const answer = await rig.call("POST", pathOf(id), token, body);
      assert.equal(answer.status, status, what);
      if (code !== null) assert.equal((await json(answer)).code, code, what);
      if (status === 200) {
        assert.deepEqual(
          await json(answer),
          { stored: false, reason: "store_prompt_content_disabled" },
          what,
        );
      }
      if (status === 204) assert.equal(await answer.text(), "", what);
    }
    assert.deepEqual(await stored(off), []);
  });

  it("returns exactly the stored bytes, including U+0000, a byte order mark and an empty body", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = await synced(workspace);
    for (const text of ["", "\0", "\ufeffa\0b", "é€😀", "x".repeat(1_400_000)]) {
      const body = envelope(requestId, { body_b64: encodeBase64(bytesOf(text)) });
      assert.equal((await post(workspace, requestId, body)).status, 204);
      const [row] = await stored(workspace);
      assert.deepEqual(new Uint8Array(row?.request_body ?? [1]), bytesOf(text));
    }
  });

  it("keeps one row for both directions, the sender's last write of each, with its own redaction", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = await synced(workspace);
    await post(
      workspace,
      requestId,
      envelope(requestId, { redaction_applied: true, redaction_summary: ["email"] }),
    );
    await post(
      workspace,
      requestId.toUpperCase(),
      envelope(requestId.toUpperCase(), { direction: "response", truncated: true }),
    );
    await post(
      workspace,
      requestId,
      envelope(requestId, { content_type: "text/plain", original_size_bytes: 9 }),
    );
    const rows = await stored(workspace);
    assert.equal(rows.length, 1);
    const [row] = rows;
    assert.equal(row?.request_content_type, "text/plain");
    assert.equal(row?.request_original_size_bytes, "9");
    assert.deepEqual(row?.request_redaction_summary, []);
    assert.equal(row?.response_truncated, true);
    assert.equal(row?.response_redaction_applied, false);
  });

  it("answers 404 for a request of another workspace, and changes nothing there", async () => {
    const [one, other] = [
      await rig.addWorkspace({ storePromptContent: true }),
      await rig.addWorkspace({ storePromptContent: true }),
    ];
    const requestId = await synced(one);
    const answer = await post(other, requestId);
    assert.equal(answer.status, 404);
    assert.equal((await json(answer)).code, "request_unknown");
    assert.deepEqual(await stored(one), []);
    // If it has a request with the same id, it stores its own body.
    await rig.call("POST", "/v1/requests/batch", other.token, batch(record(requestId)));
    assert.equal((await post(other, requestId)).status, 204);
    assert.deepEqual(await stored(one), []);
  });

  it("answers 404 instead of 425 after 24 hours, and starts again after 48", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const requestId = rig.uuid();
    assert.equal((await post(workspace, requestId)).status, 425);
    rig.clock.advance(ORPHAN_AFTER_MS - 1);
    assert.equal((await post(workspace, requestId)).status, 425);
    rig.clock.advance(1);
    assert.equal((await post(workspace, requestId)).status, 404);
    rig.clock.advance(SIGHTING_TTL_MS - ORPHAN_AFTER_MS + 1);
    assert.equal((await post(workspace, requestId)).status, 425);
  });

  it("limits the cost of an unknown id", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    await sql`insert into body_first_sightings
      select ${workspace.id}::uuid, gen_random_uuid(), ${rig.clock.now()}::timestamptz
      from generate_series(1, ${MAX_SIGHTINGS}::integer)`.execute(rig.db);
    assert.equal((await post(workspace, rig.uuid())).status, 425);
    const { rows } = await sql<{ n: string }>`
      select count(*) as n from body_first_sightings where workspace_id = ${workspace.id}::uuid`.execute(
      rig.db,
    );
    assert.equal(rows[0]?.n, String(MAX_SIGHTINGS));
  });

  it("writes nothing of a refused body to any column or log line", async () => {
    const workspace = await rig.addWorkspace();
    const requestId = await synced(workspace);
    const canary = "canary-6b1f";
    await post(workspace, requestId, envelope(requestId, { content_type: canary, body_b64: btoa(canary) }));
    const { rows: tables } = await sql<{ relname: string }>`select relname from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace`.execute(rig.db);
    for (const { relname } of tables) {
      const { rows } = await sql<{ n: string }>`
        select count(*) as n from ${sql.table(relname)} t
        where t::text like ${`%${canary}%`} or t::text like ${`%${btoa(canary)}%`}`.execute(rig.db);
      assert.equal(rows[0]?.n, "0", relname);
    }
    assert.ok(!JSON.stringify(rig.log).includes(canary));
  });
});

describeOnOneEngine("the body gate", (engine) => {
  it("stores no body after it is switched off, however often it is switched", async (context) => {
    const rig = await createRig(engine, { config, database: { maxConnections: 20 } });
    context.after(() => rig.close());
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    // Each upload must change something, and a side has a limited number of versions, so each goes to the next request.
    const ids = Array.from({ length: 500 }, () => rig.uuid());
    const records = ids.map((id) => record(id));
    assert.equal(
      (await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records))).status,
      200,
    );
    let running = true;
    let sent = 0;
    const answers = { stored: 0, gateOff: 0 };
    const uploads = Array.from({ length: UPLOADS }, async () => {
      while (running) {
        sent += 1;
        const id = ids[sent % ids.length] ?? "";
        const body = envelope(id, { body_b64: encodeBase64(bytesOf(String(sent))) });
        const answer = await rig.call("POST", pathOf(id), workspace.token, body);
        if (answer.status === 204) answers.stored += 1;
        else if (answer.status === 200) answers.gateOff += 1;
        else throw new Error(`${answer.status} ${await answer.text()}`);
        // PGlite answers without giving timers a turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const failed = Promise.all(uploads).then(() => new Promise<never>(() => {}));
    /** Resolves after this number of further answers of that kind. */
    const more = async (kind: keyof typeof answers, count: number) => {
      const enough = answers[kind] + count;
      while (answers[kind] < enough) await Promise.race([failed, setTimeout(1)]);
    };
    const versions = async () =>
      await sql`select count(*), max(ctid::text) as last, sum(xmin::text::bigint) as versions
        from request_bodies`.execute(rig.db);
    try {
      // Planted: reading the gate without `for share`; bodies then land after the flag went off.
      for (let round = 0; round < (engine.name === "pglite" ? 5 : 25); round += 1) {
        await gate(rig, workspace, true);
        await more("stored", 1);
        await gate(rig, workspace, false);
        // The flag is off and committed: nothing may change any more.
        const before = await versions();
        await more("gateOff", UPLOADS);
        assert.deepEqual((await versions()).rows, before.rows);
      }
    } finally {
      running = false;
    }
    await Promise.all(uploads);
  });
});
