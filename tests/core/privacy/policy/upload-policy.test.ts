import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createPolicyForFields,
  isFieldSent,
  isLocalOnly,
  isMachineFieldSent,
  isOverridableField,
  SELF_TEST_PROJECT,
  sentFields,
  UPLOAD_FIELDS,
  UPLOAD_PRESET_DEFAULT,
  UPLOAD_PRESETS,
} from "../../../../core/privacy/policy/upload-policy.ts";
import { metadataRecordSchema } from "../../../../core/wire/metadata-record.ts";
import { policyOf } from "./sample-record.rig.ts";

/** What each preset adds to the previous one. Source: docs/specification.md#metadata-batch. */
const required = ["request_id", "requested_at", "provider", "model"];
const minimal = [
  ...[
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
  ],
  ...["thinking_tokens", "tokens_complete", "cost_usd_minor_units", "cost_pico_usd", "cost_source"],
  ...["billing_mode", "rates_source", "project"],
];
const full = [
  ...["client_version", "git_branch", "git_commit", "git_remote", "pull_request"],
  ...["method", "path", "source_workdir"],
];
const all = Object.keys(metadataRecordSchema.entries);
const standard = all.filter((field) => ![...required, ...minimal, ...full].includes(field));

describe("createPolicyForFields()", () => {
  it("sends exactly the given fields of every project", () => {
    for (const fields of [{}, { prompt_tokens: false }, { path: true, cost_pico_usd: false }]) {
      for (const preset of UPLOAD_PRESETS) {
        const sent = sentFields({ preset, fields, perProject: { web: false } });
        const again = createPolicyForFields(sent);
        assert.deepEqual(sentFields(again), sent);
        assert.deepEqual(again.perProject, {});
      }
    }
  });

  it("sends required fields, and ignores unknown ones", () => {
    assert.deepEqual(sentFields(createPolicyForFields([])), [
      "request_id",
      "requested_at",
      "provider",
      "model",
    ]);
  });
});

describe("isMachineFieldSent()", () => {
  it("follows the preset, unless the field is set", () => {
    for (const [name, presets] of [
      ["limit_readings", ["full"]],
      ["coverage", ["standard", "full"]],
    ] as const) {
      const isSent = (preset: (typeof UPLOAD_PRESETS)[number], fields = {}) =>
        isMachineFieldSent(name, { preset, fields, perProject: {} });
      assert.deepEqual(
        UPLOAD_PRESETS.filter((preset) => isSent(preset)),
        presets,
      );
      assert.equal(isSent("full", { [name]: false }), false);
      assert.equal(isSent("minimal", { [name]: true }), true);
      assert.equal(isOverridableField(name), true);
    }
  });

  it("holds the coverage back while a project is local-only, unless the field is set", () => {
    const policy = (local: boolean, fields = {}) =>
      ({ preset: "full", fields, perProject: { open: true, secret: !local } }) as const;
    assert.equal(isMachineFieldSent("coverage", policy(true)), false);
    assert.equal(isMachineFieldSent("coverage", policy(true, { coverage: true })), true);
    assert.equal(isMachineFieldSent("coverage", policy(false)), true);
    assert.equal(isMachineFieldSent("limit_readings", policy(true)), true);
  });
});

describe("sentFields()", () => {
  it("of minimal: ids, time, provider, model, tokens, cost with its source, project", () => {
    assert.deepEqual([...sentFields(policyOf("minimal"))].sort(), [...required, ...minimal].sort());
  });
  it("of standard: all except Git, version, method, path and working directory", () => {
    assert.deepEqual(
      [...sentFields(policyOf("standard"))].sort(),
      [...required, ...minimal, ...standard].sort(),
    );
    assert.equal(standard.length, 23);
  });
  it("of full: every field of the record", () => {
    assert.deepEqual([...sentFields(policyOf("full"))].sort(), [...all].sort());
  });
  it("has a default preset, which is one of three", () => {
    assert.equal(UPLOAD_PRESET_DEFAULT, "standard");
    assert.deepEqual(UPLOAD_PRESETS, ["minimal", "standard", "full"]);
  });
  it("lists every field of the record, and no other", () => {
    assert.deepEqual(Object.keys(UPLOAD_FIELDS).sort(), [...all].sort());
  });
});

describe("isFieldSent()", () => {
  const overrides = [
    ["absent", {}],
    ["true", { prompt_hash: true, source_workdir: true, model: true }],
    ["false", { prompt_hash: false, source_workdir: false, model: false }],
  ] as const;
  const expected: Record<string, readonly [promptHash: boolean, workdir: boolean, model: boolean]> = {
    "minimal absent": [false, false, true],
    "minimal true": [true, true, true],
    "minimal false": [false, false, true],
    "standard absent": [true, false, true],
    "standard true": [true, true, true],
    "standard false": [false, false, true],
    "full absent": [true, true, true],
    "full true": [true, true, true],
    "full false": [false, false, true],
  };
  for (const preset of UPLOAD_PRESETS) {
    for (const [word, fields] of overrides) {
      it(`under ${preset} with overrides ${word}; a required field always`, () => {
        const policy = policyOf(preset, { fields });
        const sent = (["prompt_hash", "source_workdir", "model"] as const).map((field) =>
          isFieldSent(field, policy),
        );
        assert.deepEqual(sent, expected[`${preset} ${word}`]);
      });
    }
  }
});

describe("isOverridableField()", () => {
  const names: readonly [name: string, overridable: boolean][] = [
    ["prompt_hash_kind", false],
    ["source_workdir", true],
    ["cost_pico_usd", true],
    ["project", true],
    ["request_id", false],
    ["model", false],
    ["error_message_hash", false],
    ["toString", false],
    ["", false],
  ];
  for (const [name, overridable] of names) {
    it(`returns ${overridable} for ${JSON.stringify(name)}`, () =>
      assert.equal(isOverridableField(name), overridable));
  }
});

describe("isLocalOnly()", () => {
  const policy = policyOf("full", { perProject: { secret: false, open: true } });
  for (const [project, local] of [
    ["secret", true],
    ["open", false],
    ["other", false],
    ["constructor", false],
    [SELF_TEST_PROJECT, true],
  ] as const) {
    it(`returns ${local} for ${project}`, () => assert.equal(isLocalOnly(project, policy), local));
  }
});
