import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { seedRates } from "../../../../cloud/store/rates.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { judgePull } from "../../../../core/pricing/guard.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { readPublishedRate } from "../../../../core/pricing/published-rates.ts";
import { whoamiSchema } from "../../../../core/wire/daemon.ts";
import { daemonTotalsSchema } from "../../../../core/wire/daemon-totals.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { publishedRatesSchema } from "../../../../core/wire/pricing-rates.ts";
import { auditOf } from "../../kit/audit.ts";
import { batch, type CloudRig, createRig, json, record, START } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const config = { rateLimits: { perKey: 1e6 } };

/** Every route that a sync key can call, except the one that revokes it. */
const ROUTES: [method: string, path: string][] = [
  ["GET", "/v1/daemon/whoami"],
  ["GET", "/v1/pricing/rates"],
  ["GET", "/v1/reconciliation/daemon-totals?from_date=2026-11-21&to_date=2026-11-21"],
  ["POST", "/v1/requests/batch"],
  ["POST", "/v1/requests/01994b8e-7c00-7000-8000-000000000000/body"],
];

describeOnOneEngine("a daemon's key", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("is refused on every route with 401 and WWW-Authenticate unless it is whole and known", async () => {
    const { token, id } = await rig.addWorkspace();
    const another = await rig.addWorkspace();
    // A token with the id of one workspace and the secret of another.
    const mixed = token.slice(0, 40) + another.token.slice(40);
    const last = token.at(-1) === "A" ? "B" : "A";
    const headers: (string | null)[] = [
      null,
      "",
      "Bearer",
      `Basic ${token}`,
      `Digest ${token}`,
      token,
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token.slice(0, -1)}${last}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${"a".repeat(8192)}`,
      `Bearer ${mixed}`,
      `Bearer ${id}`,
      "Bearer ' or true --",
    ];
    for (const [method, path] of [...ROUTES, ["DELETE", "/v1/daemon/key"] as const]) {
      for (const header of headers) {
        const answer = await rig.app(config).request(path, {
          method,
          headers: header === null ? {} : { authorization: header },
        });
        assert.equal(answer.status, 401, `${method} ${path} ${header}`);
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
        assert.equal((await json(answer)).code, "unauthorised");
      }
    }
    const lowerCase = await rig
      .app()
      .request("/v1/daemon/whoami", { headers: { authorization: `bearer ${token}` } });
    assert.equal(lowerCase.status, 200);
  });

  it("gets 403 while its machine is blocked, its owner removed or its workspace deleted, and works again afterwards", async () => {
    const workspace = await rig.addWorkspace();
    const set = (table: string, column: string, value: number | null) =>
      sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}::timestamptz
        where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
    for (const [table, column, code] of [
      ["machines", "blocked_at", "machine_blocked"],
      ["memberships", "removed_at", "not_a_member"],
      ["workspaces", "deleted_at", "workspace_deleted"],
    ] as const) {
      await set(table, column, START);
      for (const [method, path] of ROUTES) {
        const answer = await rig.call(method, path, workspace.token);
        assert.equal(answer.status, 403, `${code} ${path}`);
        assert.equal((await json(answer)).code, code);
      }
      await set(table, column, null);
      assert.equal((await rig.call("GET", "/v1/daemon/whoami", workspace.token)).status, 200);
    }
  });

  it("stays valid for an administrator of the organisation who is no member of the workspace", async () => {
    const workspace = await rig.addWorkspace();
    const token = await rig.addKey(workspace, { scope: "admin", userId: "boss" });
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", token)).status, 403);
    await rig.db
      .insertInto("organisation_members")
      .values({
        organisation_id: workspace.organisationId,
        user_id: "boss",
        role: "admin",
        created_at: START,
      })
      .execute();
    const answer = await json(rig.call("GET", "/v1/daemon/whoami", token));
    assert.equal(answer.machine, null);
    assert.equal(answer.key.scope, "admin");
  });

  it("ends when the machine gets a new one, from the next request on", async () => {
    const workspace = await rig.addWorkspace();
    const other = await rig.addKey(workspace, { machineId: await rig.addMachine(workspace) });
    const renewed = await rig.addKey(workspace);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", workspace.token)).status, 401);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", renewed)).status, 200);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", other)).status, 200);
  });

  it("revokes itself with 204, even on a blocked machine", async () => {
    const workspace = await rig.addWorkspace();
    await rig.db
      .updateTable("machines")
      .set({ blocked_at: START })
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.equal((await rig.call("DELETE", "/v1/daemon/key", workspace.token)).status, 204);
    assert.equal((await rig.call("DELETE", "/v1/daemon/key", workspace.token)).status, 401);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind, userId, { scope }]) => [kind, userId, scope]),
      [["key_revoked", workspace.userId, "sync"]],
    );
  });

  it("is stored only as a hash", async () => {
    const { token } = await rig.addWorkspace();
    const { rows } = await sql<{ text: string }>`select k::text as text from sync_keys k`.execute(rig.db);
    const all = rows.map(({ text }) => text).join("\n");
    assert.ok(!all.includes(token) && !all.includes(token.slice(9, 50)));
  });

  it("gets 429 with Retry-After for too many requests, without affecting other keys", async () => {
    const [one, other] = [await rig.addWorkspace(), await rig.addWorkspace()];
    const app = rig.app({ rateLimits: { perKey: 3 } });
    const ask = async (token: string) =>
      await app.request("/v1/daemon/whoami", { headers: { authorization: `Bearer ${token}` } });
    for (let turn = 0; turn < 3; turn += 1) assert.equal((await ask(one.token)).status, 200);
    const refused = await ask(one.token);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "20");
    assert.equal((await ask(other.token)).status, 200);
    rig.clock.advance(20_000);
    assert.equal((await ask(one.token)).status, 200);
    assert.equal((await ask(one.token)).status, 429);
  });

  it("gets its workspace, machine and person from whoami", async () => {
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const answer = await json(rig.call("GET", "/v1/daemon/whoami", workspace.token));
    assert.ok(parseWire(whoamiSchema, answer).ok);
    assert.deepEqual(answer.workspace, {
      id: workspace.id,
      name: "Work",
      plan: "team",
      store_prompt_content: true,
    });
    assert.deepEqual(answer.machine, { id: workspace.machineId, hostname: "laptop" });
    assert.ok(!workspace.token.startsWith(answer.key.prefix.replace("…", "")));
    assert.equal(answer.server_time, new Date(rig.clock.now()).toISOString());
  });
});

describeOnOneEngine("GET /v1/pricing/rates", (engine) => {
  it("publishes rates that a daemon's guard accepts, and answers 304 to a client that has them", async () => {
    const rig = await createRig(engine, { config });
    const { token } = await rig.addWorkspace();
    const app = rig.app();
    const get = async (headers: Record<string, string> = {}) =>
      await app.request("/v1/pricing/rates", { headers: { authorization: `Bearer ${token}`, ...headers } });
    const answer = await get();
    const said = await json(answer);
    const parsed = parseWire(publishedRatesSchema, said);
    assert.ok(parsed.ok && parsed.value.rates.length > 50);
    const verdict = judgePull(parsed.value, createPriceBook(loadBundledRates()), START);
    assert.ok(verdict.ok, JSON.stringify(verdict));
    const etag = answer.headers.get("etag") ?? "";
    assert.match(etag, /^"[0-9a-f]{64}"$/);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const again = await get({ "if-none-match": tag });
      assert.equal(again.status, 304, tag);
      assert.equal(await again.text(), "");
      assert.equal(again.headers.get("etag"), etag);
    }
    assert.equal((await get({ "if-none-match": '"x"' })).status, 200);
    await rig.close();
  });

  it("publishes and uses a new set of rates within a minute, in every instance", async () => {
    const rig = await createRig(engine, { config });
    const workspace = await rig.addWorkspace();
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(rig.uuid())));
    const published = {
      provider: "openai",
      model: "gpt-4o",
      input: "1",
      output: "2",
      cache_read: null,
      cache_write: null,
    };
    const read = readPublishedRate(published, "auto", "2026-11-21");
    assert.ok(read.ok);
    assert.equal(await seedRates(rig.db, [read.row], START), 1);
    assert.equal(await seedRates(rig.db, [read.row], START), 0);
    rig.clock.advance(60_000);
    const id = rig.uuid();
    const sent = batch(record(id, { prompt_tokens: 1, completion_tokens: 0 }));
    await rig.call("POST", "/v1/requests/batch", workspace.token, sent);
    const row = await rig.db
      .selectFrom("requests")
      .selectAll()
      .where("request_id", "=", id)
      .executeTakeFirst();
    assert.equal(row?.cost_pico_usd, "1000000");
    assert.equal(row?.rates_source, "auto");
    const said = await json(rig.call("GET", "/v1/pricing/rates", workspace.token));
    assert.equal(said.published_at, "2026-11-21T00:00:00.000Z");
    assert.equal(said.rates.find(({ model }: { model: string }) => model === "gpt-4o").input, "1");
    await rig.close();
  });
});

describeOnOneEngine("GET /v1/reconciliation/daemon-totals", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  const get = (token: string, from: string, to: string) =>
    rig.call("GET", `/v1/reconciliation/daemon-totals?from_date=${from}&to_date=${to}`, token);

  it("sums what the key's machine delivered, by day and model, both dates included", async () => {
    const workspace = await rig.addWorkspace();
    const elsewhere = await rig.addKey(workspace, { machineId: await rig.addMachine(workspace) });
    const at = (requested_at: string, fields: Record<string, unknown> = {}) =>
      record(rig.uuid(), {
        requested_at,
        prompt_tokens: 10,
        completion_tokens: 1,
        cost_pico_usd: "7",
        ...fields,
      });
    await rig.call(
      "POST",
      "/v1/requests/batch",
      workspace.token,
      batch(
        at("2026-11-18T23:59:59.999Z"),
        at("2026-11-19T00:00:00.000Z"),
        at("2026-11-20T12:00:00.000Z"),
        at("2026-11-20T12:00:00.000Z", { model: "gpt-5", thinking_tokens: 3, cost_pico_usd: null }),
        at("2026-11-20T23:59:59.999Z"),
        at("2026-11-21T00:00:00.000Z"),
      ),
    );
    await rig.call("POST", "/v1/requests/batch", elsewhere, batch(at("2026-11-19T00:00:00.000Z")));
    const answer = await json(get(workspace.token, "2026-11-19", "2026-11-20"));
    assert.ok(parseWire(daemonTotalsSchema, answer).ok);
    assert.deepEqual(
      answer.days.map(({ date, requests, models }: Record<string, unknown>) => [
        date,
        requests,
        (models as { model: string; requests: number }[]).map(({ model, requests }) => [model, requests]),
      ]),
      [
        ["2026-11-19", 1, [["gpt-4o", 1]]],
        [
          "2026-11-20",
          3,
          [
            ["gpt-4o", 2],
            ["gpt-5", 1],
          ],
        ],
      ],
    );
    const gpt4o = 10n * 2_500_000n + 10_000_000n;
    const gpt5 = 10n * 1_250_000n + 4n * 10_000_000n;
    assert.deepEqual(answer.totals, {
      requests: 4,
      prompt_tokens: 40,
      completion_tokens: 4,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      thinking_tokens: 3,
      cost_pico_usd: String(3n * gpt4o + gpt5),
      reported_cost_pico_usd: "21",
    });
    assert.equal((await json(get(elsewhere, "2026-11-01", "2026-11-30"))).totals.requests, 1);
  });

  it("accepts only dates", async () => {
    const { token } = await rig.addWorkspace();
    const refused: [from: string, to: string, code: string][] = [
      ["2026-11-19T00:00:00Z", "2026-11-20", "datetime_not_date"],
      ["2026-11-19", "2026-11-20T00:00:00.000Z", "datetime_not_date"],
      ["2026-11-19", "2026-11-20%2012:00", "datetime_not_date"],
      ["2026-02-30", "2026-11-20", "date_malformed"],
      ["", "2026-11-20", "date_malformed"],
      ["2026-11-21", "2026-11-20", "period_reversed"],
      ["1".repeat(50), "2026-11-20", "wrong_shape"],
    ];
    for (const [from, to, code] of refused) {
      const answer = await get(token, from, to);
      assert.equal(answer.status, 422, `${from} ${to}`);
      assert.equal((await json(answer)).code, code);
    }
    assert.equal((await rig.call("GET", "/v1/reconciliation/daemon-totals", token)).status, 422);
    assert.deepEqual((await json(get(token, "0001-01-01", "9999-12-31"))).days, []);
  });
});
