import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { coverageSchema, coverageUploadSchema, MAX_COVERAGE_ITEMS } from "../../../core/wire/coverage.ts";
import { parseWire } from "../../../core/wire/parse.ts";

const hour = {
  hour: "2026-11-27T09:00:00.000Z",
  metered: 2,
  seen: 3,
  counts: [
    { kind: "metered", count: 2 },
    { kind: "unknown_path", count: 1 },
  ],
};
const run = { from: "2026-11-27T08:10:00.000Z", to: "2026-11-27T09:40:00.000Z" };
const upload = {
  daemon_version: "0.4.0",
  as_of: "2026-11-27T09:40:00.000Z",
  queued: 0,
  hours: [hour],
  runs: [run],
};
const isUpload = (change: object) => v.safeParse(coverageUploadSchema, { ...upload, ...change }).success;

describe("coverageUploadSchema", () => {
  it("parses what was printed, without the members that it does not know", () => {
    const text = JSON.stringify({ ...upload, hosts: ["secret.example"] });
    assert.deepEqual(parseWire(coverageUploadSchema, JSON.parse(text)), { ok: true, value: upload });
    const { queued, ...older } = upload;
    assert.equal(queued, 0);
    assert.deepEqual(parseWire(coverageUploadSchema, older), { ok: true, value: { ...older, queued: null } });
  });

  it("accepts at most 500 hours and 500 runs, and kinds of a newer daemon", () => {
    const many = (item: object, more: number) =>
      Array.from({ length: MAX_COVERAGE_ITEMS + more }, () => item);
    assert.ok(isUpload({ hours: many(hour, 0), runs: many(run, 0) }));
    assert.ok(!isUpload({ hours: many(hour, 1) }));
    assert.ok(!isUpload({ runs: many(run, 1) }));
    assert.ok(isUpload({ hours: [], runs: [] }));
    assert.ok(isUpload({ hours: [{ ...hour, counts: [{ kind: "of_tomorrow", count: 1 }] }] }));
  });

  it("rejects a part of an hour, a negative count and too many kinds", () => {
    const counts = Array.from({ length: 65 }, (_, n) => ({ kind: `k${n}`, count: 1 }));
    for (const change of [
      { hour: "2026-11-27T09:15:00.000Z" },
      { hour: "2026-11-27" },
      { metered: -1 },
      { seen: 0.5 },
      { counts },
      { counts: [{ kind: "", count: 1 }] },
    ])
      assert.ok(!isUpload({ hours: [{ ...hour, ...change }] }), JSON.stringify(change));
    assert.ok(!isUpload({ as_of: "now" }));
    assert.ok(!isUpload({ runs: [{ from: run.from }] }));
  });
});

describe("coverageSchema", () => {
  it("keeps unknown coverage apart from none", () => {
    const machine = { machine_id: "m", machine_name: "laptop", metered: 0, seen: 0, counts: [], gaps: [] };
    const answer = {
      ...{ from: "a", to: "b", metered: 0, seen: 0, unknown_machines: 1 },
      machines: [{ ...machine, state: "unknown", has_unknown_requests: true }],
    };
    const parsed = parseWire(coverageSchema, answer);
    assert.ok(parsed.ok);
    assert.deepEqual(
      [parsed.value.permille, parsed.value.machines[0]?.reported_at, parsed.value.machines[0]?.queued],
      [null, null, null],
    );
    assert.ok(
      !parseWire(coverageSchema, { ...answer, machines: [{ ...answer.machines[0], state: "good" }] }).ok,
    );
  });
});
