import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createManualClock } from "../../adapters/clock/manual-clock.ts";
import type { SyncReport } from "../../core/delivery/sync/sync-events.ts";
import { type MetadataRecord, parseMetadataRecord } from "../../core/wire/metadata-record.ts";
import { openJsonFileStore } from "../../examples/sync-worker/json-file-store.ts";
import { createWorker } from "../../examples/sync-worker/sync-worker.ts";
import { runExample } from "./run-example.rig.ts";

const directory = mkdtempSync(join(tmpdir(), "sync-worker-test-"));
after(() => rmSync(directory, { recursive: true }));

function recordOf(number: number): MetadataRecord {
  const parsed = parseMetadataRecord({
    request_id: `01994b8e-7c00-7000-8000-00000000000${number}`,
    requested_at: "2026-11-21T10:00:00Z",
    provider: "openai",
    model: "m",
  });
  assert.ok(parsed.ok);
  return parsed.value;
}

/** Runs one requested sync against invented responses. */
async function syncOnce(file: string, answers: readonly (() => Response)[]) {
  const store = openJsonFileStore(join(directory, file));
  const waiting = [...answers];
  const sent: Request[] = [];
  const reported = Promise.withResolvers<SyncReport>();
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const worker = createWorker({
    store,
    clock,
    fetch: async (input, init) => {
      sent.push(new Request(input, init));
      const answer = waiting.shift();
      if (answer === undefined) throw new TypeError("connection refused");
      return answer();
    },
    baseUrl: "https://cloud.test",
    token: "t",
    onReport: reported.resolve,
  });
  worker.dispatch({ kind: "sync_requested" });
  const ended = worker.run({ kind: "started", random: 0 });
  const report = await reported.promise;
  const { state } = worker;
  worker.stop();
  await ended;
  return { store, sent, report, state };
}

describe("examples/sync-worker", () => {
  it("runs: marks what the cloud accepts, and quarantines what it rejects", async () => {
    assert.deepEqual(await runExample("sync-worker"), ["done: 2 accepted, 1 quarantined", "0 still waiting"]);
  });
});

describe("createWorker()", () => {
  it("sends each record once, with the token, and remembers it across a restart", async () => {
    openJsonFileStore(join(directory, "once.json")).add(recordOf(1));
    const first = await syncOnce("once.json", [
      () => Response.json({ accepted: 1, duplicates: 0, rejected: [] }),
    ]);
    assert.equal(first.report.accepted, 1);
    assert.equal(first.sent[0]?.headers.get("authorization"), "Bearer t");
    const second = await syncOnce("once.json", []);
    assert.deepEqual([second.report.ok, second.sent.length], [true, 0]);
  });
  it("pauses on 401, keeps the record, and stays paused across a restart", async () => {
    openJsonFileStore(join(directory, "paused.json")).add(recordOf(1));
    const first = await syncOnce("paused.json", [() => new Response(null, { status: 401 })]);
    assert.equal(first.state.status, "paused_unauthorised");
    assert.deepEqual(await first.store.selectPending(500), [recordOf(1).request_id]);
    const second = await syncOnce("paused.json", []);
    assert.deepEqual([second.report.reason, second.sent.length], ["paused", 0]);
  });
  it("counts a refused connection, an unreadable 200 and a redirect as transient failures", async () => {
    for (const [file, answers] of [
      ["refused.json", []],
      ["unreadable.json", [() => new Response("<html>")]],
      [
        "redirect.json",
        [() => new Response(null, { status: 307, headers: { location: "https://evil.test" } })],
      ],
    ] as const) {
      openJsonFileStore(join(directory, file)).add(recordOf(1));
      const { report, state, store, sent } = await syncOnce(file, answers);
      assert.deepEqual([report.ok, report.reason, state.status], [false, "failed", "active"], file);
      assert.equal((await store.selectPending(500)).length, 1);
      assert.deepEqual([sent.length, sent[0]?.redirect], [1, "manual"]);
    }
  });
});
