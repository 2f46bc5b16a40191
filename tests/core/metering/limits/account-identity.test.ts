import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { createAccountHash, readAccountIdentity } from "../../../../core/metering/limits/account-identity.ts";

describe("readAccountIdentity()", () => {
  const read = (request: Record<string, string>, response: Record<string, string> = {}) =>
    readAccountIdentity(
      { headers: Object.entries(request), target: "/v1/messages" },
      Object.entries(response),
    );
  const login = { authorization: "Bearer sk-ant-oat01-abc" };

  it("takes the id that the provider or the client states", () => {
    assert.equal(read(login, { "Anthropic-Organization-Id": "org-1" }), "org-1");
    assert.equal(read({ "ChatGPT-Account-ID": "acc-1", authorization: "Bearer x" }), "acc-1");
  });

  it("adds an API key, because limits may be per key", () => {
    assert.equal(read({ "x-api-key": "sk-1" }), " sk-1");
    assert.equal(
      read({ authorization: "Bearer sk-1" }, { "openai-organization": "org-1" }),
      "org-1 Bearer sk-1",
    );
  });

  it("ignores tokens that are renewed", () => {
    assert.equal(read(login), null);
    assert.equal(read({ authorization: "" }), null);
    assert.equal(read({}), null);
    assert.equal(read({ authorization: "Bearer ya29.abc" }), null);
  });

  it("reads the tracking id of Copilot's token", () => {
    assert.equal(read({ authorization: "Bearer tid=t1;exp=1;sku=x" }), "copilot t1");
    assert.equal(read({ authorization: "Bearer tid=t1;exp=2;sku=x" }), "copilot t1");
  });

  it("reads no key from a query", () => {
    const request = { headers: [], target: "/v1beta/models/m:generateContent?key=k1" };
    assert.equal(readAccountIdentity(request, []), null);
  });
});

describe("createAccountHash()", () => {
  it("depends on the identity and on the key", () => {
    const hash = createAccountHash("0b".repeat(32), sha256);
    assert.match(hash("org-1"), /^[0-9a-f]{16}$/);
    assert.equal(hash("org-1"), hash("org-1"));
    assert.notEqual(hash("org-1"), hash("org-2"));
    assert.notEqual(hash("org-1"), createAccountHash("0c".repeat(32), sha256)("org-1"));
  });
});
