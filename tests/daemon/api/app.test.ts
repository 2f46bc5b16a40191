import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createApi } from "../../../daemon/api/app.ts";

const host = "127.0.0.1:8765";

function open(status: () => unknown = () => ({ version: "0.4.0" })) {
  return createApi({
    version: "0.4.0",
    allowedHosts: new Set([host, "localhost:8765", "[::1]:8765"]),
    token: "right",
    equalSecrets: (one, other) => one === other,
    status,
  });
}

async function ask(path: string, headers: Record<string, string> = {}, api = open(), method = "GET") {
  const answer = await api.request(path, { method, headers: { host, ...headers } });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as Record<string, unknown>,
  };
}

describe("createApi()", () => {
  it("tells anybody on this machine that it lives, and no more", async () => {
    const { status, body, headers } = await ask("/health");
    assert.deepEqual([status, body], [200, { status: "ok", version: "0.4.0" }]);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("access-control-allow-origin"), null);
  });

  it("answers to its own names, in any case", async () => {
    for (const name of ["LocalHost:8765", "[::1]:8765", "127.0.0.1:8765"]) {
      assert.equal((await ask("/health", { host: name })).status, 200, name);
    }
  });

  const strangers = [
    "127.0.0.1",
    "localhost:9999",
    "evil.test:8765",
    "127.0.0.1:8765.evil.test",
    "",
    "127.1:8765",
  ];
  for (const name of strangers) {
    it(`refuses another Host on every path: ${JSON.stringify(name)}`, async () => {
      for (const path of ["/health", "/v1/status", "/nothing"]) {
        const { status, body } = await ask(path, { host: name, authorization: "Bearer right" });
        assert.equal(status, 403);
        assert.equal(body.code, "host_not_allowed");
        assert.equal(body.version, undefined);
      }
    });
  }

  const pages: Record<string, string>[] = [
    { origin: "https://evil.test" },
    { origin: "null" },
    { origin: `http://${host}` },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "same-origin" },
  ];
  for (const headers of pages) {
    it(`refuses what a web page sends: ${JSON.stringify(headers)}`, async () => {
      const {
        status,
        body,
        headers: answered,
      } = await ask("/v1/status", { ...headers, authorization: "Bearer right" });
      assert.deepEqual([status, body.code], [403, "origin_not_allowed"]);
      assert.equal(answered.get("access-control-allow-private-network"), null);
    });
  }

  it("lets a person's own navigation and Node's fetch pass", async () => {
    assert.equal((await ask("/health", { "sec-fetch-site": "none" })).status, 200);
    assert.equal((await ask("/health", { "sec-fetch-mode": "cors" })).status, 200);
  });

  it("shows its status to who holds the secret", async () => {
    for (const authorization of ["Bearer right", "bearer right"]) {
      const { status, body } = await ask("/v1/status", { authorization });
      assert.deepEqual([status, body], [200, { version: "0.4.0" }]);
    }
  });

  const secrets = [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Bearer wrong",
    "Basic right",
    "right",
    "Bearer  right",
  ];
  for (const authorization of secrets) {
    it(`shows nothing without it: ${authorization}`, async () => {
      const { status, body, headers } = await ask(
        "/v1/status",
        authorization === undefined ? {} : { authorization },
      );
      assert.deepEqual([status, body.code], [401, "unauthorised"]);
      assert.equal(headers.get("www-authenticate"), "Bearer");
      assert.equal(headers.get("content-type"), "application/problem+json");
    });
  }

  it("answers problems as RFC 9457 has them, also to what is not there and what goes wrong", async () => {
    const missing = await ask("/v1/nothing");
    assert.deepEqual(missing.body, {
      type: "about:blank",
      status: 404,
      code: "not_found",
      detail: "There is nothing at this address.",
    });
    assert.equal((await ask("/health", {}, open(), "POST")).status, 404);
    const failing = open(() => {
      throw new Error("a secret of the inside");
    });
    const { status, body } = await ask("/v1/status", { authorization: "Bearer right" }, failing);
    assert.deepEqual([status, body.code], [500, "internal"]);
    assert.ok(!JSON.stringify(body).includes("secret of the inside"));
  });
});
