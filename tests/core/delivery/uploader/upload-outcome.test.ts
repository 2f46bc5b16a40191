import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BodyResult,
  decideUpload,
  type UploadOutcome,
} from "../../../../core/delivery/uploader/upload-outcome.ts";
import { http, noAnswer, notStored } from "./uploader.rig.ts";

describe("decideUpload() follows the specification's table", () => {
  const rows: readonly [trigger: string, result: BodyResult, expected: UploadOutcome["kind"]][] = [
    ["204", http(204), "stored"],
    ["200 with stored=false", notStored, "policy_rejected"],
    ["425", http(425), "not_yet_synced"],
    [
      "425 for a key that the cloud can't use",
      { ...http(425), code: "body_key_unavailable" },
      "key_unavailable",
    ],
    ["404", http(404), "quarantined"],
    ["other terminal 4xx: 400", http(400), "quarantined"],
    ["other terminal 4xx: 409", http(409), "quarantined"],
    ["other terminal 4xx: 413", http(413), "quarantined"],
    ["other terminal 4xx: 422", http(422), "quarantined"],
    ["other terminal 4xx: 499", http(499), "quarantined"],
    ["schema mismatch", { kind: "unfit", reason: "no content type" }, "quarantined"],
    ["transport", noAnswer, "transient"],
    ["5xx: 500", http(500), "transient"],
    ["5xx: 503", http(503), "transient"],
    ["auth error: 401", http(401), "paused"],
    // Source: docs/specification.md#bodies.
    ["403", http(403), "paused"],
    ["408", http(408), "transient"],
    ["429", http(429), "transient"],
    ["a redirect", http(308), "transient"],
    ["held back when sending", { kind: "held_back" }, "held_back"],
    // Never stored without an exact success.
    ["200 with a page of HTML", http(200), "transient"],
    ["200 with stored=true", { kind: "http", status: 200, retryAfterMs: null, stored: true }, "transient"],
    ["201", http(201), "transient"],
    ["206", http(206), "transient"],
    ["100", http(100), "transient"],
    ["600", http(600), "transient"],
  ];
  for (const [trigger, result, expected] of rows) {
    it(`${trigger} -> ${expected}`, () => assert.equal(decideUpload(result).kind, expected));
  }

  it("pauses under the name of the status", () => {
    assert.deepEqual(decideUpload(http(401)), {
      kind: "paused",
      status: "paused_unauthorised",
      httpStatus: 401,
      error: "HTTP 401",
      code: null,
    });
    assert.deepEqual(decideUpload({ ...http(403), code: "machine_blocked" }), {
      kind: "paused",
      status: "paused_forbidden",
      httpStatus: 403,
      error: "HTTP 403 machine_blocked",
      code: "machine_blocked",
    });
  });

  it("quarantines a record that another machine or person has sent, and continues", () => {
    assert.deepEqual(decideUpload({ ...http(403), code: "not_the_sender" }), {
      kind: "quarantined",
      reason: "HTTP 403 not_the_sender",
      httpStatus: 403,
    });
    assert.equal(decideUpload({ ...http(401), code: "not_the_sender" }).kind, "paused");
  });

  it("quarantines with the reason", () => {
    assert.deepEqual(decideUpload(http(404)), { kind: "quarantined", reason: "HTTP 404", httpStatus: 404 });
    assert.deepEqual(decideUpload({ kind: "unfit", reason: "no content type" }), {
      kind: "quarantined",
      reason: "no content type",
      httpStatus: null,
    });
  });

  // Planted: 201 counts as stored. Planted: 407 pauses.
  it("stores only on 204, pauses only on 401 and 403, and is rejected by policy only on 200", () => {
    for (let status = 0; status <= 1_000; status++) {
      for (const stored of [true, false, null]) {
        const { kind } = decideUpload({ kind: "http", status, retryAfterMs: null, stored });
        assert.equal(kind === "stored", status === 204);
        assert.equal(kind === "paused", status === 401 || status === 403);
        assert.equal(kind === "policy_rejected", status === 200 && stored === false);
        if (kind === "quarantined") assert.ok(status >= 400 && status < 500);
      }
    }
  });
});
