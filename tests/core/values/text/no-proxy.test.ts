import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  listExemptHosts,
  matchesNoProxy,
  parseNoProxy,
  readNoProxy,
  splitNoProxy,
} from "../../../../core/values/text/no-proxy.ts";

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
  const rows: readonly (readonly [entry: string, host: string, port: number | null, matches: boolean])[] = [
    ["*", "any.test", 1, true],
    ["*:443", "any.test", 80, false],
    ["corp.test", "corp.test", 443, true],
    ["corp.test", "a.corp.test", 443, true],
    ["corp.test", "xcorp.test", 443, false],
    ["corp.test.", "CORP.test.", 443, true],
    [".dot.test", "a.dot.test", 443, true],
    [".dot.test", "dot.test", 443, true],
    ["*.star.test", "a.star.test", 443, true],
    ["port.test:8443", "port.test", 8443, true],
    ["port.test:8443", "port.test", 443, false],
    ["port.test:8443", "port.test", null, true],
    ["10.0.0.0/8", "10.1.2.3", 443, true],
    ["10.0.0.0/8", "11.1.2.3", 443, false],
    ["10.0.0.0/8", "::ffff:10.1.2.3", 443, true],
    ["10.0.0.0/8", "fd00::1", 443, false],
    ["10.16.0.0/12", "10.31.255.1", 443, true],
    ["10.16.0.0/12", "10.32.0.1", 443, false],
    ["0.0.0.0/0", "203.0.113.9", 443, true],
    ["10.0.0.0/8", "10.test", 443, false],
    ["10.0.0.0/8", "10.0.0.999", 443, false],
    ["10.0.0.0/33", "10.0.0.1", 443, false],
    ["10.0.0.0/", "10.0.0.0", 443, false],
    ["corp.test/8", "corp.test", 443, false],
    ["192.0.2.7", "192.0.2.7", 443, true],
    ["192.0.2.7:80", "192.0.2.7", 443, false],
    ["0.2.7", "192.0.2.7", 443, false],
    ["fd00::/8", "fd12::1", 443, true],
    ["fd00::/8", "fe80::1", 443, false],
    ["[::1]:443", "::1", 443, true],
    ["[::1]:443", "[::1]", 80, false],
    ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", 443, true],
    ["1:2:3:4:5:6:0.0.7.8", "1:2:3:4:5:6:0:708", 443, true],
    ["1:2:3:4:5:6:0.7.0.8", "1:2:3:4:5:6:7:8", 443, true],
    ["1::2::3", "1::3", 443, false],
    ["1:2:3", "1:2:3", 443, false],
    ["1::12345", "1::1", 443, false],
    ["1:2:3:4:5:6:7::8", "1:2:3:4:5:6:7:8", 443, false],
    [".", "corp.test", 443, false],
    ["a:b:c", "a", 443, false],
  ];
  for (const [entry, host, port, matches] of rows) {
    it(`${matches ? "matches" : "does not match"} ${host} port ${port} with ${entry}`, () => {
      assert.equal(matchesNoProxy(parseNoProxy([entry]), host, port), matches);
    });
  }
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
