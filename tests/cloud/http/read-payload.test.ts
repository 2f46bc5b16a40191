import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readBytes } from "../../../cloud/http/read-payload.ts";

const requestOf = (body: string | null, headers: Record<string, string> = {}) =>
  new Request("http://cloud/", { method: "POST", body, headers });

describe("readBytes()", () => {
  for (const [name, headers] of [
    ["a stated length", { "content-length": "4" }],
    ["no stated length", {}],
    ["chunks, whatever length is stated", { "content-length": "4", "transfer-encoding": "chunked" }],
  ] as const) {
    it(`returns the bytes of a body with ${name}`, async () => {
      const read = await readBytes(requestOf("byte", headers), 4);
      assert.deepEqual(read, { ok: true, value: new TextEncoder().encode("byte") });
    });

    it(`refuses a body that is too long with ${name}`, async () => {
      const read = await readBytes(requestOf("bytes", headers), 4);
      assert.equal(read.ok === false && read.refusal.status, 413);
    });
  }

  it("refuses a stated length that is too long, without the body", async () => {
    const request = requestOf("byte", { "content-length": "5" });
    const read = await readBytes(request, 4);
    assert.equal(read.ok === false && read.refusal.status, 413);
    assert.equal(request.bodyUsed, false);
  });

  it("returns no bytes of a request without a body", async () => {
    assert.deepEqual(await readBytes(requestOf(null), 4), { ok: true, value: new Uint8Array(0) });
  });
});
