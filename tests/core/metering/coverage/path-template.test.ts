import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { methodTemplate, pathTemplate } from "../../../../core/metering/coverage/path-template.ts";

const table: readonly (readonly [path: string, template: string])[] = [
  ["/v1/organizations/usage", "/v1/organizations/usage"],
  ["/mcp-registry/v0/servers?limit=9&key=sk-1", "/mcp-registry/v0/servers"],
  ["/v1/files/file-9f2bb1/content", "/v1/files/{id}/content"],
  ["/v1/threads/thread_abc/runs", "/v1/threads/thread_abc/runs"],
  ["/v1/threads/thread_aB3dE9/runs", "/v1/threads/{id}/runs"],
  ["/v1beta/models/gemini-2.5-pro:predict", "/v1beta/models/{id}:predict"],
  ["/v1beta1/projects/p-1:batchEmbedContents", "/v1beta1/projects/{id}:batchEmbedContents"],
  ["/v1/traces/019aa8f2-0c1e-7cc3-98c4-dc0c0c07398f", "/v1/traces/{id}"],
  ["/v1/keys/sk-ant-oat01-AbCdEf", "/v1/keys/{id}"],
  ["/v1/keys/AKIAIOSFODNN7EXAMPLE", "/v1/keys/{id}"],
  ["/v1/keys/qwertyuiopasdfghjklz", "/v1/keys/{id}"],
  ["/u/me@example.com", "/u/{id}"],
  ["/v1/%2e%2e/x", "/v1/{id}/x"],
  ["/", "/"],
  ["*", "/{id}"],
  ["/a/a/a/a/a/a/a/a/a/a/a", "/a/a/a/a/a/a/a/a/a/a/…"],
];

describe("pathTemplate()", () => {
  for (const [path, template] of table) {
    it(`turns ${path} into ${template}`, () => assert.equal(pathTemplate(path), template));
  }

  // Seen to fail with digits allowed in words.
  it("keeps no digit outside versions, and is bounded", () => {
    const segment = fc.string({
      unit: fc.constantFrom("a", "Z", "7", "-", "_", ".", ":", "%", "é"),
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 20 }), (segments) => {
        const template = pathTemplate(`/${segments.join("/")}`);
        assert.ok(template.length <= 400);
        assert.doesNotMatch(template, /7|é/);
      }),
    );
  });
});

describe("methodTemplate()", () => {
  it("keeps methods and replaces everything else", () => {
    assert.deepEqual(["GET", "PROPFIND", "get", "X".repeat(11)].map(methodTemplate), [
      "GET",
      "PROPFIND",
      "OTHER",
      "OTHER",
    ]);
  });
});
