import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Hono } from "hono";
import { MAX_BODY_BYTES } from "../../../daemon/api/app.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { type ApiRig, DASHBOARD, openApi } from "./api.rig.ts";

const bearer = { authorization: "Bearer right" };

describe("createApi()", () => {
  let rig: ApiRig;
  const cloud = new Hono()
    .get("/state", (context) => context.json({ paired: false }))
    .get("/raw", () => new Response("{}", { status: 409 }))
    .post("/connect", async (context) => context.json({ got: await context.req.json() }));
  before(async () => {
    rig = await openApi({
      cloud: { routes: cloud, banner: async () => ({ banner: "ACTIVE", sentence: "All is sent." }) },
    });
  });
  after(() => rig.close());

  it("serves /health, and forbids caching, framing and cross-origin use of every response", async () => {
    const answer = await rig.ask("/health");
    assert.deepEqual(
      [answer.status, await answer.json()],
      [200, { status: "ok", version: "0.4.0", started_at: "2026-05-12T08:00:00.000Z" }],
    );
    const { headers } = answer;
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("x-frame-options"), "DENY");
    assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
    assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'; frame-ancestors 'none'/);
    assert.equal(headers.get("access-control-allow-origin"), null);
    assert.equal(headers.get("access-control-allow-private-network"), "true");
  });

  it("includes the cloud banner in the status", async () => {
    const { cloud: stands } = (await (await rig.ask("/v1/status")).json()) as { cloud: unknown };
    assert.deepEqual(stands, { banner: "ACTIVE", sentence: "All is sent." });
  });

  it("lets only an allowed dashboard read the response", async () => {
    const answer = await rig.ask("/v1/cloud/state", { headers: { origin: DASHBOARD } });
    assert.deepEqual([answer.status, await answer.json()], [200, { paired: false }]);
    assert.equal(answer.headers.get("access-control-allow-origin"), DASHBOARD);
    assert.equal(answer.headers.get("access-control-allow-private-network"), "true");
    assert.equal(answer.headers.get("vary"), "Origin");
    const refused = await rig.ask("/v1/cloud/state", { headers: { origin: "https://evil.test" } });
    const body = (await refused.json()) as { code: string };
    assert.deepEqual([refused.status, body.code], [403, "origin_not_allowed"]);
    assert.equal(refused.headers.get("content-type"), "application/problem+json");
    assert.equal(refused.headers.get("access-control-allow-origin"), null);
    assert.equal(refused.headers.get("access-control-allow-private-network"), null);
    assert.equal(refused.headers.get("cache-control"), "no-store");
  });

  it("sets its headers on every response of a route", async () => {
    const answer = await rig.ask("/v1/cloud/raw", { headers: { origin: DASHBOARD } });
    assert.equal(answer.status, 409);
    assert.equal(answer.headers.get("access-control-allow-origin"), DASHBOARD);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
  });

  it("answers preflights of allowed dashboards only", async () => {
    const asking = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-meter-request",
    };
    const answer = await rig.ask("/v1/cloud/connect", {
      method: "OPTIONS",
      headers: { origin: DASHBOARD, ...asking, "access-control-request-private-network": "true" },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("access-control-allow-origin"), DASHBOARD);
    assert.match(answer.headers.get("access-control-allow-headers") ?? "", /x-meter-request/);
    assert.match(answer.headers.get("access-control-allow-methods") ?? "", /POST/);
    assert.equal(answer.headers.get("access-control-allow-private-network"), "true");
    const refused = await rig.ask("/v1/cloud/connect", {
      method: "OPTIONS",
      headers: { origin: "https://evil.test", ...asking },
    });
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get("access-control-allow-methods"), null);
  });

  it("names the authentication scheme in a 401 response", async () => {
    const closed = await openApi({ owner: null });
    try {
      for (const authorization of [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic right",
        "right",
        "Bearer  right",
      ]) {
        const answer = await closed.ask("/v1/status", { headers: { authorization } });
        assert.deepEqual(
          [answer.status, ((await answer.json()) as { code: string }).code],
          [401, "unauthorised"],
          authorization,
        );
        assert.equal(answer.headers.get("www-authenticate"), "Bearer");
      }
      for (const authorization of ["Bearer right", "bearer right"]) {
        const answer = await closed.ask("/v1/status", { headers: { authorization } });
        assert.equal(answer.status, 200);
        assert.equal(((await answer.json()) as { version: string }).version, "0.4.0");
      }
    } finally {
      closed.close();
    }
  });

  it("looks up the owner of a connection once", async () => {
    let asked = 0;
    const counting = await openApi({
      owners: {
        async ownerOf(connection) {
          asked++;
          const client = { clientAddress: "127.0.0.1", clientPort: 50_000 };
          assert.deepEqual(connection, { ...client, serverAddress: "127.0.0.1", serverPort: 8765 });
          return "other";
        },
      },
    });
    try {
      for (const path of ["/health", "/v1/stats", "/"]) {
        const answer = await counting.ask(path, { headers: bearer });
        assert.deepEqual(
          [answer.status, ((await answer.json()) as { code: string }).code],
          [403, "other_user"],
        );
      }
      assert.equal(asked, 1);
    } finally {
      counting.close();
    }
  });

  it("accepts only JSON bodies up to the size limit", async () => {
    const post = (headers: Record<string, string>, body: string) =>
      rig.ask("/v1/cloud/connect", {
        method: "POST",
        headers: { ...bearer, "content-length": `${body.length}`, ...headers },
        body,
      });
    const taken = await post({ "content-type": "application/json; charset=utf-8" }, '{"a":1}');
    assert.deepEqual(await taken.json(), { got: { a: 1 } });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
      assert.equal((await post({ "content-type": type }, '{"a":1}')).status, 415, type);
    const large = await post({ "content-type": "application/json" }, `"${"x".repeat(MAX_BODY_BYTES)}"`);
    assert.deepEqual(
      [large.status, ((await large.json()) as { code: string }).code],
      [413, "body_too_large"],
    );
  });

  it("returns RFC 9457 problems, also for unknown paths and internal errors", async () => {
    const missing = await rig.ask("/v1/nothing");
    assert.equal(missing.headers.get("content-type"), "application/problem+json");
    assert.deepEqual(await missing.json(), {
      type: "about:blank",
      status: 404,
      code: "not_found",
      detail: "There is no resource at this path.",
    });
    assert.equal((await rig.ask("/health", { method: "POST", headers: bearer })).status, 404);
    const seen: unknown[] = [];
    const failing = await openApi({
      state: () => {
        throw new Error("a secret of the inside");
      },
      onError: (error) => seen.push(error),
    });
    const answer = await failing.ask("/v1/status");
    failing.close();
    assert.equal(answer.status, 500);
    assert.ok(!(await answer.text()).includes("secret of the inside"));
    assert.equal(seen.length, 1);
  });

  it("does not report an error when the client has disconnected", async () => {
    const seen: unknown[] = [];
    const left = await openApi({ onError: (error) => seen.push(error) });
    left.store.records.insert([sampleRecord()]);
    await left.ask("/v1/requests", { signal: AbortSignal.abort() });
    left.close();
    assert.deepEqual(seen, []);
  });
});
