import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Hono } from "hono";
import { createCloudRoutes } from "../../../daemon/api/cloud-routes.ts";
import {
  createMachine,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
  TOKEN,
} from "../cloud/cloud.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";

let cloud: ScriptedCloud;
let machine: Machine;
let routes: Hono;

const owner = { authorization: "Bearer secret" };
const ticket = {
  code: "ABCD-1234",
  poll_token: "p".repeat(43),
  verification_url: "http://127.0.0.1:1/connect?code=ABCD-1234",
  expires_in: 600,
  interval: 0,
};

beforeEach(async () => {
  cloud = await startScriptedCloud();
  machine = await createMachine(cloud.url, { paired: false });
  routes = createCloudRoutes(machine.service, {
    version: "0.4.0",
    hostname: "laptop",
    port: () => 8765,
    isOwner: (context) => context.req.header("authorization") === owner.authorization,
  });
  cloud.otherwise("/v1/pairing/start", { status: 201, body: ticket });
  cloud.otherwise("/v1/pairing/poll", {
    status: 200,
    body: { status: "approved", sync_token: TOKEN, workspace: { id: "w1", name: "Work" } },
  });
});
afterEach(async () => {
  await machine.close();
  await cloud.close();
});

const post = (path: string, body?: unknown, headers: Record<string, string> = owner) =>
  routes.request(path, {
    method: "POST",
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
const read = async (answer: Response): Promise<any> => await answer.json();
const get = async (path: string, headers: Record<string, string> = {}) =>
  read(await routes.request(path, { headers }));

describe("createCloudRoutes()", () => {
  it("returns the four fields of the specification at /state", async () => {
    const state = { paired: false, version: "0.4.0", hostname: "laptop", port: 8765 };
    assert.deepEqual(await get("/state"), state);
    assert.equal((await post("/connect", undefined, {})).status, 200);
    await machine.service.connectSettled();
    assert.deepEqual(await get("/state"), { ...state, paired: true });
    machine.config.cloud = { ...(machine.config.cloud as object), enabled: false };
    assert.deepEqual(await get("/state"), state);
  });

  it("starts pairing, reports its status, and shows no secret", async () => {
    const answer = await read(await post("/connect"));
    assert.deepEqual(answer, { code: ticket.code, verification_url: ticket.verification_url });
    await machine.service.connectSettled();
    const status = await get("/connect/status");
    assert.deepEqual([status.status, status.workspace_name], ["approved", "Work"]);
    assert.equal(JSON.stringify([answer, status]).includes(TOKEN), false);
    assert.equal((await post("/connect")).status, 409);
  });

  it("ignores the options that a page sends, and keeps earlier records local", async () => {
    machine.store.records.insert([sampleRecord()]);
    const evil = { base_url: "https://evil.company", force: true, from_now: false };
    assert.equal((await post("/connect", evil, {})).status, 200);
    await machine.service.connectSettled();
    assert.equal((await machine.service.state()).baseUrl, cloud.url);
    assert.equal(machine.store.delivery.countPending(), 0);
    assert.equal((await post("/connect", evil, {})).status, 409);
    assert.equal((await post("/connect", { force: true })).status, 200);
  });

  it("requires the secret for pause, resume, sync, reload and status", async () => {
    for (const path of ["/connect/cancel", "/pause", "/resume", "/sync", "/reload"]) {
      assert.equal((await post(path, undefined, {})).status, 401, path);
    }
    const refused = await routes.request("/status");
    assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"]);
    assert.equal(cloud.seen.length, 0);
    assert.equal((await read(await post("/pause"))).kind, "not_connected");
    assert.equal((await post("/connect")).status, 200);
    await machine.service.connectSettled();
    assert.equal((await read(await post("/pause"))).kind, "paused");
    assert.equal((await get("/status", owner)).sync.pausedReason, "paused_manual");
    assert.equal((await read(await post("/resume"))).ok, true);
    assert.deepEqual(await read(await post("/reload")), { reloaded: true });
    await machine.ports.credentials.clear();
    assert.equal((await read(await post("/sync"))).kind, "not_connected");
  });

  it("cancels a pairing, so that a later approval has no effect", async () => {
    await machine.ports.credentials.clear();
    cloud.otherwise("/v1/pairing/poll", { status: 200, body: { status: "pending" } });
    assert.equal((await post("/connect")).status, 200);
    const { status } = await read(await post("/connect/cancel"));
    assert.ok(["idle", "failed"].includes(status), status);
    const polls = cloud.to("/v1/pairing/poll").length;
    cloud.otherwise("/v1/pairing/poll", { status: 200, body: { status: "approved" } });
    assert.equal((await get("/state")).paired, false);
    assert.ok(cloud.to("/v1/pairing/poll").length <= polls + 1);
    assert.equal((await read(await post("/connect/cancel"))).status, status);
  });

  it("returns the reason why it can't connect", async () => {
    cloud.script("/v1/pairing/start", { status: 500 });
    assert.equal((await post("/connect")).status, 502);
    assert.equal((await post("/connect", "no object")).status, 422);
    machine.config.cloud = {};
    const nowhere = await post("/connect");
    assert.deepEqual([nowhere.status, (await read(nowhere)).code], [409, "no_base_url"]);
    assert.equal(nowhere.headers.get("content-type"), "application/problem+json");
  });
});
