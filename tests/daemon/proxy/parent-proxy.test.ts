import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDirectMatcher,
  noParentProxies,
  readProxyUrl,
  resolveParentProxies,
} from "../../../daemon/proxy/parent-proxy.ts";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const own = new Set([8081]);

describe("readProxyUrl()", () => {
  const rows: readonly (readonly [url: string, expected: object | null])[] = [
    ["http://proxy.corp:3128", { host: "proxy.corp", port: 3128, tls: false, authorization: null }],
    ["http://proxy.corp", { host: "proxy.corp", port: 80, tls: false, authorization: null }],
    ["https://proxy.corp/", { host: "proxy.corp", port: 443, tls: true, authorization: null }],
    ["proxy.corp:3128", { host: "proxy.corp", port: 3128, tls: false, authorization: null }],
    [
      "http://me:p%40ss%3A@proxy.corp:1",
      { host: "proxy.corp", port: 1, tls: false, authorization: basic("me:p@ss:") },
    ],
    ["http://me@proxy.corp:1", { host: "proxy.corp", port: 1, tls: false, authorization: basic("me:") }],
    ["http://[::1]:3128", { host: "::1", port: 3128, tls: false, authorization: null }],
    ["socks5://proxy.corp:1080", null],
    ["http://", null],
    ["http://me:%zz@proxy.corp", null],
  ];
  for (const [url, expected] of rows) {
    it(`reads ${url} ${expected ? "" : "as nothing"}`, () => assert.deepEqual(readProxyUrl(url), expected));
  }
});

describe("resolveParentProxies()", () => {
  it("ignores the environment by default", async () => {
    const resolved = await resolveParentProxies({ kind: "none" }, { HTTPS_PROXY: "http://a:1" }, own);
    assert.deepEqual(resolved, { proxies: noParentProxies, warnings: [] });
  });

  it("uses a configured proxy for all hosts except NO_PROXY", async () => {
    const setting = { kind: "url", url: "http://a.test:1", noProxy: " b.test, c.test" } as const;
    const { proxies } = await resolveParentProxies(setting, {}, own);
    const proxy = { host: "a.test", port: 1, tls: false, authorization: null };
    assert.deepEqual(proxies, { https: proxy, http: proxy, noProxy: ["b.test", "c.test"] });
  });

  it("reads the environment, lower case first", async () => {
    const environment = {
      https_proxy: "http://a.test:1",
      HTTPS_PROXY: "http://b.test:1",
      HTTP_PROXY: "http://c.test:1",
      NO_PROXY: "x",
    };
    const { proxies } = await resolveParentProxies({ kind: "environment" }, environment, own);
    assert.equal(proxies.https?.host, "a.test");
    assert.equal(proxies.http?.host, "c.test");
    assert.deepEqual(proxies.noProxy, ["x"]);
    const all = await resolveParentProxies(
      { kind: "environment" },
      { ALL_PROXY: "http://d.test:1", https_proxy: "" },
      own,
    );
    assert.equal(all.proxies.https, null);
    assert.equal(all.proxies.http?.host, "d.test");
  });

  it("ignores the daemon itself in every spelling, with a warning that omits the password", async () => {
    for (const host of ["127.0.0.1", "localhost", "127.1", "[::1]", "0.0.0.0"]) {
      const url = `http://me:secret@${host}:8081`;
      const { proxies, warnings } = await resolveParentProxies(
        { kind: "environment" },
        { HTTPS_PROXY: url },
        own,
      );
      assert.equal(proxies.https, null, host);
      assert.match(warnings.join(), /is this daemon\.$/);
      assert.doesNotMatch(warnings.join(), /secret/);
    }
    const other = await resolveParentProxies(
      { kind: "environment" },
      { HTTPS_PROXY: "http://127.0.0.1:3128" },
      own,
    );
    assert.equal(other.proxies.https?.port, 3128);
  });

  it("ignores other protocols, with a warning that omits the password", async () => {
    const { proxies, warnings } = await resolveParentProxies(
      { kind: "url", url: "socks5://me:secret@a.test", noProxy: null },
      {},
      own,
    );
    assert.deepEqual(proxies, noParentProxies);
    assert.equal(warnings.length, 1);
    assert.doesNotMatch(warnings.join(), /secret/);
  });
});

describe("createDirectMatcher()", () => {
  const isDirect = createDirectMatcher([
    "corp.test",
    ".dot.test",
    "*.star.test",
    "port.test:8443",
    "10.0.0.0/8",
    "192.0.2.7",
    "fd00::/8",
    "10.0.0.0/99",
  ]);
  const rows: readonly (readonly [host: string, port: number, direct: boolean])[] = [
    ["corp.test", 443, true],
    ["a.corp.test", 443, true],
    ["CORP.test.", 443, true],
    ["xcorp.test", 443, false],
    ["a.dot.test", 443, true],
    ["dot.test", 443, true],
    ["a.star.test", 443, true],
    ["port.test", 8443, true],
    ["port.test", 443, false],
    ["10.1.2.3", 443, true],
    ["11.1.2.3", 443, false],
    ["192.0.2.7", 443, true],
    ["fd12::1", 443, true],
    ["localhost", 1, true],
    ["a.localhost", 1, true],
    ["127.0.0.9", 1, true],
    ["::1", 1, true],
  ];
  for (const [host, port, direct] of rows) {
    it(`${direct ? "reaches" : "does not reach"} ${host}:${port} directly`, () =>
      assert.equal(isDirect(host, port), direct));
  }

  it("matches every host with *", () => assert.equal(createDirectMatcher(["*"])("any.test", 1), true));
});
