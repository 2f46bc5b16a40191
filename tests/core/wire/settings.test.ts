import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import { machinePatchSchema } from "../../../core/wire/people.ts";
import { settingsPatchSchema, settingsSchema } from "../../../core/wire/settings.ts";

describe("a change of a workspace's settings", () => {
  it("sets either setting, and must set one", () => {
    for (const patch of [{ store_prompt_content: false }, { reporting_zone: "Asia/Kathmandu" }]) {
      assert.deepEqual(parseWire(settingsPatchSchema, patch), { ok: true, value: patch });
    }
    assert.equal(parseWire(settingsPatchSchema, {}).ok, false);
  });

  it("accepts only zones that the runtime knows", () => {
    for (const zone of ["", "Europe/Atlantis", "+25:00", "\0"]) {
      assert.equal(parseWire(settingsPatchSchema, { reporting_zone: zone }).ok, false, zone);
    }
  });

  it("has no zone in the answer of an older cloud", () => {
    const older = { id: "w1", name: "Acme", plan: "team", store_prompt_content: true };
    assert.deepEqual(parseWire(settingsSchema, older), {
      ok: true,
      value: { ...older, reporting_zone: null },
    });
  });
});

describe("a change of a machine", () => {
  it("sets its person, its name, or both, and must set one", () => {
    for (const patch of [{ user_id: "u1" }, { name: "Laptop" }, { name: null, user_id: "u1" }]) {
      assert.deepEqual(parseWire(machinePatchSchema, patch), { ok: true, value: patch });
    }
    assert.equal(parseWire(machinePatchSchema, {}).ok, false);
  });
});
