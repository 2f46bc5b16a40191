import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createNoProxyMatcher,
  listExemptHosts,
  matchesNoProxy,
  parseNoProxy,
  readNoProxy,
  splitNoProxy,
} from "../../../../core/values/text/no-proxy.ts";
import { noProxyCases } from "./no-proxy-cases.rig.ts";

describe("readNoProxy()", () => {
  it("prefers the lower-case variable, as curl and Node do", () => {
    assert.equal(readNoProxy({ no_proxy: "a", NO_PROXY: "b" }), "a");
    assert.equal(readNoProxy({ NO_PROXY: "b" }), "b");
    assert.equal(readNoProxy({ no_proxy: "", NO_PROXY: "b" }), "");
    assert.equal(readNoProxy({}), "");
  });
});

describe("splitNoProxy()", () => {
  it("splits at commas and white space and drops empty entries", () => {
    assert.deepEqual(splitNoProxy(" a.test, b.test\tc.test,,"), ["a.test", "b.test", "c.test"]);
    assert.deepEqual(splitNoProxy(""), []);
  });
});

describe("matchesNoProxy()", () => {
  for (const [entry, host, port, matches] of noProxyCases) {
    it(`${matches ? "matches" : "does not match"} ${host} port ${port} with ${entry}`, () => {
      assert.equal(matchesNoProxy(parseNoProxy([entry]), host, port), matches);
    });
  }
});

describe("createNoProxyMatcher()", () => {
  it("reads the variable of an environment", () => {
    const matches = createNoProxyMatcher({ NO_PROXY: "localhost, .corp.test:8443" });
    assert.deepEqual(
      [matches("localhost", 80), matches("a.corp.test", 8443), matches("a.corp.test", 443)],
      [true, true, false],
    );
    assert.equal(createNoProxyMatcher({})("localhost", 80), false);
  });
});

describe("listExemptHosts()", () => {
  const hosts = ["api.openai.com", "api.anthropic.com", "*.openai.azure.com"];
  const rows: readonly (readonly [noProxy: string, exempt: readonly string[]])[] = [
    ["", []],
    ["localhost,127.0.0.1,::1,.corp", []],
    ["*", hosts],
    ["API.openai.com", ["api.openai.com"]],
    ["OPENAI.com", ["api.openai.com"]],
    [" .anthropic.com , x", ["api.anthropic.com"]],
    [".anthropic.com:443, intranet", ["api.anthropic.com"]],
    ["*.openai.com:443", ["api.openai.com"]],
    ["*.azure.com anthropic.com", ["api.anthropic.com", "*.openai.azure.com"]],
    ["ai.com", []],
    ["com", hosts],
  ];
  for (const [noProxy, exempt] of rows) {
    it(`finds ${exempt.join(", ") || "none"} for ${JSON.stringify(noProxy)}`, () => {
      assert.deepEqual(listExemptHosts(noProxy, hosts), exempt);
    });
  }
});
