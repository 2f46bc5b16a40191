import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHostMatcher, normaliseHost } from "../../../daemon/proxy/host-patterns.ts";

describe("createHostMatcher()", () => {
  const matches = createHostMatcher([
    "api.openai.com",
    "*.openai.azure.com",
    "localhost:11434",
    "*.internal.test:8443",
    "[::1]:11434",
    "fd00::1",
    "API.Example.",
  ]);
  const rows: readonly (readonly [host: string, port: number, matches: boolean])[] = [
    ["api.openai.com", 443, true],
    ["API.OPENAI.COM", 8443, true],
    ["api.openai.com.", 443, true],
    ["xapi.openai.com", 443, false],
    ["api.openai.com.evil.test", 443, false],
    ["me.openai.azure.com", 443, true],
    ["a.b.openai.azure.com", 443, true],
    ["openai.azure.com", 443, false],
    ["evilopenai.azure.com", 443, false],
    ["localhost", 11434, true],
    ["localhost", 443, false],
    ["a.internal.test", 8443, true],
    ["a.internal.test", 443, false],
    ["::1", 11434, true],
    ["::1", 443, false],
    ["fd00::1", 443, true],
    ["api.example", 1, true],
    ["", 443, false],
  ];
  for (const [host, port, expected] of rows) {
    it(`${expected ? "knows" : "does not know"} ${host || "the empty name"}:${port}`, () => {
      assert.equal(matches(host, port), expected);
    });
  }
});

describe("normaliseHost()", () => {
  it("lower-cases and removes one trailing dot", () => {
    assert.equal(normaliseHost("Api.OpenAI.com."), "api.openai.com");
    assert.equal(normaliseHost("a.."), "a.");
  });
});
