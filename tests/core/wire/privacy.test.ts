import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import { workspacePrivacySchema } from "../../../core/wire/privacy.ts";

const erasure = {
  id: "01980000-0000-7000-8000-000000000001",
  user_id: "ann",
  before: "2026-11-21T12:00:00.000Z",
};

describe("the answer about what a workspace holds", () => {
  const parse = (answer: object) =>
    parseWire(workspacePrivacySchema, {
      store_prompt_content: true,
      data_retention_days: 30,
      holdings: [{ user_id: "ann", requests: 3, stored_prompts: 1 }],
      erasures: [erasure],
      ...answer,
    });

  it("has null for what is not known: a deleted account's name, and the end of an erasure that runs", () => {
    const parsed = parse({});
    assert.ok(parsed.ok);
    assert.equal(parsed.value.holdings[0]?.name, null);
    assert.deepEqual(parsed.value.erasures[0], {
      ...erasure,
      project: null,
      actor_user_id: null,
      finished_at: null,
      certificate: null,
    });
  });

  it("rejects negative counts and malformed ids", () => {
    assert.equal(parse({ holdings: [{ user_id: "ann", requests: -1, stored_prompts: 0 }] }).ok, false);
    assert.equal(parse({ erasures: [{ ...erasure, id: "1" }] }).ok, false);
  });
});
