import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeDistrust } from "../../../../core/operations/doctor/trust-advice.ts";

const facts = { name: "tool", host: "api.openai.com", rejected: 1, unused: 0 };

describe("describeDistrust()", () => {
  const fixes: readonly (readonly [runtime: string, fix: RegExp])[] = [
    ["node", /Set NODE_EXTRA_CA_CERTS to \/ca\.pem/],
    ["deno", /Set DENO_CERT to \/ca\.pem/],
    ["java", /Import \/ca\.pem into its key store/],
    ["wget", /--ca-certificate=\/ca\.pem/],
    ["python3.12", /REQUESTS_CA_BUNDLE and SSL_CERT_FILE/],
    ["curl", /CURL_CA_BUNDLE/],
    ["codex", /CODEX_CA_CERTIFICATE/],
    ["aws", /AWS_CA_BUNDLE/],
    ["my-go-tool", /SSL_CERT_FILE/],
  ];
  for (const [runtime, fix] of fixes)
    it(`names the fix for ${runtime}`, () => {
      const { text, command } = describeDistrust({ ...facts, runtime }, "/ca.pem");
      assert.match(text, fix);
      assert.equal(command, "meter run -- <command>");
    });

  it("tells a program that was started before the host was added to start again", () => {
    const earlier = { ...facts, runtime: "node", trustsEarlier: true };
    const { text, command } = describeDistrust(earlier, "/ca.pem");
    assert.match(
      text,
      /^tool \(node\) trusts an earlier certificate .* does not cover api\.openai\.com: it ended 1 connection/,
    );
    assert.match(text, /Start it again:$/);
    assert.equal(command, "meter run -- <command>");
    assert.match(
      describeDistrust({ ...earlier, rejected: 0, unused: 3 }, "/ca.pem").text,
      /^tool \(node\) may trust an earlier certificate .* it ended 3 connections/,
    );
  });

  it("says no more than was seen", () => {
    const { text } = describeDistrust({ ...facts, runtime: "tool", rejected: 0, unused: 2 }, "/ca.pem");
    assert.match(text, /^tool ended 2 connections to api\.openai\.com before a request\. It may not trust/);
  });
});
