import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { toOutgoingRecord } from "../../../../core/privacy/policy/outgoing-record.ts";
import {
  choosePromptHashForm,
  type PromptHashKind,
  toPromptHashFields,
} from "../../../../core/privacy/policy/prompt-hash.ts";
import { sampleRecord } from "./sample-record.rig.ts";

const KEY = "0f".repeat(32);
const PLAIN = "a1".repeat(32);
const keyedHash = createHmac("sha256", Buffer.from(KEY, "hex"))
  .update(Buffer.from(PLAIN, "hex"))
  .digest("hex");

describe("the form of prompt_hash", () => {
  const rows: readonly (readonly [
    PromptHashKind,
    key: string | null,
    hash: string | null,
    kind: string | null,
  ])[] = [
    ["auto", KEY, keyedHash, "keyed"],
    ["auto", null, PLAIN, "plain"],
    ["plain", KEY, PLAIN, "plain"],
    ["plain", null, PLAIN, "plain"],
    ["keyed", KEY, keyedHash, "keyed"],
    ["keyed", null, null, null],
  ];
  for (const [setting, key, hash, kind] of rows) {
    it(`${setting}, ${key === null ? "without a key" : "with a key"}: ${kind ?? "not sent"}`, () => {
      const form = choosePromptHashForm(setting, key, sha256);
      assert.deepEqual(toPromptHashFields(PLAIN, form), { prompt_hash: hash, prompt_hash_kind: kind });
      assert.deepEqual(toPromptHashFields(null, form), { prompt_hash: null, prompt_hash_kind: null });
    });
  }

  it("goes with the hash under every preset and override", () => {
    const local = { ...sampleRecord, promptHash: PLAIN };
    const form = choosePromptHashForm("auto", KEY, sha256);
    for (const preset of ["minimal", "standard", "full"] as const) {
      for (const fields of [{}, { prompt_hash: true }, { prompt_hash: false }, { prompt_hash_kind: true }]) {
        const outgoing = toOutgoingRecord(local, { preset, fields, perProject: {} }, form);
        assert.ok(outgoing.kind === "send");
        const { prompt_hash, prompt_hash_kind } = outgoing.record;
        assert.equal(prompt_hash_kind, prompt_hash === null ? null : "keyed");
      }
    }
  });
});
