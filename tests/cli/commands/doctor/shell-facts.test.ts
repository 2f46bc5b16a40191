import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gatherShellFacts } from "../../../../cli/commands/doctor/shell-facts.ts";

describe("gatherShellFacts()", () => {
  const lacksPassword = (HTTPS_PROXY: string, password: string | null) =>
    gatherShellFacts({ HTTPS_PROXY }, "/home", { proxyPort: 8081, password }, [], null).lacksPassword;

  it("finds a proxy variable without the password that the proxy demands", () => {
    assert.equal(lacksPassword("http://127.0.0.1:8081", "a b"), true);
    assert.equal(lacksPassword("http://-:old@127.0.0.1:8081", "a b"), true);
    assert.equal(lacksPassword("http://-:a%20b@127.0.0.1:8081", "a b"), false);
    assert.equal(lacksPassword("http://127.0.0.1:8081", null), false);
    assert.equal(lacksPassword("http://corp.example:3128", "a b"), false);
  });
});
