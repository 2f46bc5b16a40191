import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { readBodyPolicy } from "../../../daemon/cloud/body-uploader.ts";
import {
  readWatermark,
  saveAnnouncedWatermark,
  saveSettingWhileOff,
  stampWatermark,
} from "../../../daemon/cloud/upload-watermark.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import {
  type Answer,
  createMachine,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
  until,
  WHOAMI,
} from "./cloud.rig.ts";

let cloud: ScriptedCloud;
let machine: Machine;

const on = { cloud: { bodies: { enabled: true, upload_from: "none" } } };

beforeEach(async () => {
  cloud = await startScriptedCloud();
  machine = await createMachine(cloud.url, { config: on, timeouts: { headersMs: 300, bodyMs: 300 } });
  // Body sync was switched on long ago, so bodies captured from now on are sent.
  await machine.service.reload();
  setCloud({ bodies: { enabled: true, upload_from: "2020-01-01" } });
});
afterEach(async () => {
  await machine.close();
  await cloud.close();
});

const row = () => machine.store.delivery.readState("cloud_body_sync_state");

function setCloud(change: Record<string, unknown>): void {
  machine.config.cloud = { ...(machine.config.cloud as object), ...change };
}

/** A synced request with one body. */
function addBody(given: Partial<CapturedBody> & { project?: string } = {}): string {
  const { project = "acme-web", ...body } = given;
  const record = sampleRecord({ project });
  machine.store.records.insert([record]);
  const { requestId } = record;
  machine.store.delivery.settle({ synced: [requestId], skipped: [], quarantined: [], at: 1 });
  const content = body.content ?? new TextEncoder().encode("héllo");
  machine.store.bodies.insert([
    {
      requestId,
      direction: "request",
      capturedAt: Date.UTC(2026, 10, 21),
      contentType: "application/json",
      originalSizeBytes: content.length,
      truncated: false,
      redactionApplied: true,
      redactionSummary: ["email"],
      ...body,
      content,
    },
  ]);
  return requestId;
}

const problem = (status: number, code: string) => ({ type: "about:blank", title: "No", status, code });
const uploadedAt = (id: string) => machine.store.bodies.read(id)[0]?.uploadedAt ?? null;
const sent = () =>
  cloud
    .to("/v1/requests/")
    .filter((seen) => seen.path.endsWith("/body"))
    .map((seen) => seen.body);

const nothing = {
  uploaded: 0,
  quarantined: 0,
  pending: 0,
  policyRejected: 0,
  heldBack: 0,
  pausedReason: null,
  pausedCode: null,
  lastError: null,
};
const gateIs = (store_prompt_content: boolean): Answer => ({
  status: 200,
  body: { ...WHOAMI, workspace: { ...WHOAMI.workspace, store_prompt_content } },
});

describe("the body uploader, row by row of the specification's table", () => {
  it("stamps uploaded_at on 204, and sends the specified envelope", async () => {
    const id = addBody();
    const { bodies } = await machine.service.syncNow();
    assert.deepEqual(bodies, { ...nothing, uploaded: 1 });
    assert.notEqual(uploadedAt(id), null);
    assert.deepEqual(
      cloud.seen.map(({ path }) => path),
      ["/v1/daemon/whoami", `/v1/requests/${id}/body`],
    );
    assert.deepEqual(sent()[0], {
      request_id: id,
      direction: "request",
      content_type: "application/json",
      body_b64: Buffer.from("héllo").toString("base64"),
      redaction_applied: true,
      redaction_summary: ["email"],
      original_size_bytes: 6,
      truncated: false,
    });
    assert.notEqual(row().last_body_tick_at, null);
  });

  it("leaves a record pending on 200 stored=false: no stamp, quarantine, backoff or pause, but a count and a log line", async () => {
    const ids = [addBody(), addBody(), addBody()];
    cloud.script("/v1/requests/", {
      status: 200,
      body: { stored: false, reason: "store_prompt_content_disabled" },
    });
    const { kind, bodies } = await machine.service.syncNow();
    assert.equal(kind, "synced");
    assert.deepEqual(bodies, { ...nothing, policyRejected: 3, pending: 3 });
    for (const id of ids) assert.equal(uploadedAt(id), null);
    const { paused_reason, consecutive_failures, records_policy_rejected } = row();
    assert.deepEqual([paused_reason, consecutive_failures, records_policy_rejected], [null, 0, 3]);
    assert.equal(machine.store.quarantine.count(), 0);
    const told = machine.logged.find(({ event }) => event === "cloud.body_uploader.policy_rejected_tick");
    assert.equal(told?.fields.count, 3);
    assert.match(String(told?.fields.hint), /workspace/);
    assert.equal((await machine.service.syncNow()).bodies?.uploaded, 3);
    assert.equal(row().records_policy_rejected, 0);
  });

  it("sends no body while whoami reports that the workspace stores none, and resumes once it does", async () => {
    const ids = [addBody(), addBody()];
    addBody({ project: "quiet" });
    setCloud({ bodies: { enabled: true, upload_from: "2020-01-01", per_project: { quiet: false } } });
    cloud.otherwise("/v1/daemon/whoami", gateIs(false));
    for (const _ of [1, 2]) {
      const { kind, bodies } = await machine.service.syncNow();
      assert.equal(kind, "synced");
      assert.deepEqual(bodies, { ...nothing, pending: 2, policyRejected: 2, heldBack: 1 });
    }
    assert.deepEqual([sent(), row().records_policy_rejected], [[], 2]);
    const ticks = machine.logged.filter(({ event }) => event === "cloud.body_uploader.policy_rejected_tick");
    assert.deepEqual(
      ticks.map(({ fields }) => fields.count),
      [2, 2],
    );
    cloud.otherwise("/v1/daemon/whoami", gateIs(true));
    assert.deepEqual((await machine.service.syncNow()).bodies, { ...nothing, uploaded: 2, heldBack: 1 });
    for (const id of ids) assert.notEqual(uploadedAt(id), null);
    assert.equal((await machine.service.state()).bodies.recordsPolicyRejected, 0);
  });

  it("counts bodies to send as pending, and those that settings or their request hold back as held back", async () => {
    setCloud({
      bodies: { enabled: true, upload_from: "2026-11-01", per_project: { quiet: false } },
      upload: { per_project: { secret: { upload: false } } },
    });
    cloud.otherwise("/v1/requests/", { status: 425 });
    addBody();
    addBody({ project: "quiet" });
    addBody({ project: "secret" });
    addBody({ capturedAt: Date.UTC(2026, 9, 31) });
    const skipped = sampleRecord();
    machine.store.records.insert([skipped]);
    machine.store.delivery.settle({ synced: [], skipped: [skipped.requestId], quarantined: [], at: 1 });
    const body = machine.store.bodies.read(addBody({ project: "quiet" }))[0];
    assert.ok(body);
    machine.store.bodies.insert([{ ...body, requestId: skipped.requestId }]);
    const { bodies } = await machine.service.syncNow();
    assert.deepEqual(bodies, { ...nothing, pending: 1, heldBack: 5 });
    const { pending, heldBack } = (await machine.service.state()).bodies;
    assert.deepEqual([pending, heldBack], [1, 5]);
  });

  it("reports a failure or a pause as not synced, and does not repeat an earlier failure", async () => {
    addBody();
    cloud.script("/v1/requests/", { status: 503 });
    const failed = await machine.service.syncNow();
    assert.deepEqual([failed.kind, failed.report.ok], ["not_synced", true]);
    assert.deepEqual(failed.bodies, { ...nothing, pending: 1, lastError: "HTTP 503" });
    const sentNow = await machine.service.syncNow();
    assert.deepEqual([sentNow.kind, sentNow.bodies?.lastError, row().last_error], ["synced", null, null]);
    cloud.script("/v1/daemon/whoami", { status: 403, body: problem(403, "machine_blocked") });
    addBody();
    for (const _ of [1, 2]) {
      const paused = await machine.service.syncNow();
      assert.equal(paused.kind, "not_synced");
      assert.deepEqual(
        [paused.bodies?.pausedReason, paused.bodies?.pausedCode],
        ["paused_forbidden", "machine_blocked"],
      );
    }
    assert.equal(sent().length, 2);
  });

  it("quarantines a body whose record another machine has sent, with the cloud's code, and continues", async () => {
    const [foreign, own] = [addBody(), addBody()];
    cloud.script("/v1/requests/", { status: 403, body: problem(403, "not_the_sender") });
    const { kind, bodies } = await machine.service.syncNow();
    assert.deepEqual([kind, bodies?.uploaded, bodies?.quarantined], ["synced", 1, 1]);
    const [entry] = machine.store.quarantine.list();
    assert.deepEqual([entry?.requestId, entry?.reason], [foreign, "HTTP 403 not_the_sender"]);
    assert.notEqual(uploadedAt(own), null);
    assert.equal(row().paused_reason, null);
  });

  it("skips a body on 425 and retries it at the next tick", async () => {
    const [first, second] = [addBody(), addBody()];
    cloud.script("/v1/requests/", { status: 425 });
    assert.equal((await machine.service.syncNow()).bodies?.uploaded, 1);
    assert.deepEqual([uploadedAt(first), row().consecutive_failures], [null, 0]);
    assert.notEqual(uploadedAt(second), null);
    assert.equal((await machine.service.syncNow()).bodies?.uploaded, 1);
    assert.notEqual(uploadedAt(first), null);
  });

  for (const status of [400, 404, 409, 413, 422]) {
    it(`quarantines a body on ${status} and continues`, async () => {
      const [bad, good] = [addBody(), addBody()];
      cloud.script("/v1/requests/", { status });
      const { bodies } = await machine.service.syncNow();
      assert.deepEqual([bodies?.quarantined, bodies?.uploaded, bodies?.pending], [1, 1, 0]);
      const [entry] = machine.store.quarantine.list();
      assert.deepEqual([entry?.kind, entry?.requestId, entry?.httpStatus], ["body", bad, status]);
      assert.notEqual(uploadedAt(good), null);
      assert.equal(machine.store.quarantine.release("body", [bad]), 1);
      assert.equal((await machine.service.syncNow()).bodies?.uploaded, 1);
    });
  }

  const transient: readonly [name: string, answer: Answer, error: string][] = [
    ...[408, 429, 500, 503].map((status): [string, Answer, string] => [
      String(status),
      { status },
      `HTTP ${status}`,
    ]),
    ["a redirect", { status: 301, headers: { location: "/" } }, "HTTP 301"],
    ["200 stored=true", { status: 200, body: { stored: true } }, "HTTP 200"],
    ["a 200 that is garbage", { status: 200, body: "<html>" }, "HTTP 200"],
    ["201", { status: 201 }, "HTTP 201"],
    ["a cut connection", (_, response) => void response.destroy(), "no answer: connection_reset"],
    ["silence", () => {}, "no answer: timeout"],
  ];
  for (const [name, answer, error] of transient) {
    it(`counts ${name} as transient: pending, with a backoff`, async () => {
      const id = addBody();
      const before = Date.now();
      cloud.script("/v1/requests/", answer);
      await machine.service.syncNow();
      const { consecutive_failures, last_error, last_error_at, paused_reason } = row();
      assert.deepEqual([consecutive_failures, last_error, paused_reason], [1, error, null]);
      assert.ok((last_error_at ?? 0) >= before);
      const { bodies } = await machine.service.state();
      assert.deepEqual([bodies.consecutiveFailures, bodies.lastError], [1, error]);
      assert.equal(uploadedAt(id), null);
      await machine.service.syncNow();
      assert.notEqual(uploadedAt(id), null);
      assert.equal(row().consecutive_failures, 0);
    });
  }

  for (const [status, reason] of [
    [401, "paused_unauthorised"],
    [403, "paused_forbidden"],
  ] as const) {
    it(`pauses only the body uploader on ${status}`, async () => {
      addBody();
      cloud.script("/v1/requests/", { status });
      await machine.service.syncNow();
      assert.equal(row().paused_reason, reason);
      assert.equal(machine.store.delivery.readState("cloud_sync_state").paused_reason, null);
      await machine.service.syncNow();
      assert.equal(sent().length, 1);
      assert.equal((await machine.service.resume()).ok, true);
      assert.equal(row().paused_reason, null);
      assert.equal((await machine.service.syncNow()).bodies?.uploaded, 1);
    });
  }

  it("sends nothing before Retry-After, not even on request", async () => {
    const answered = async (header: string) => {
      addBody();
      cloud.script("/v1/requests/", { status: 429, headers: { "retry-after": header } });
      const before = sent().length;
      await machine.service.syncNow();
      const { bodies } = await machine.service.syncNow();
      return [sent().length - before, bodies?.pending];
    };
    assert.deepEqual(await answered("0"), [2, 0]);
    assert.deepEqual(await answered("120"), [1, 1]);
  });

  it("truncates a body to the cap at a character boundary, keeps its original size, and rereads the cap at each tick", async () => {
    setCloud({ bodies: { enabled: true, upload_from: "2020-01-01", max_body_bytes_per_upload: 2 } });
    const first = addBody();
    await machine.service.syncNow();
    setCloud({ bodies: { enabled: true, upload_from: "2020-01-01", max_body_bytes_per_upload: 3 } });
    addBody();
    await machine.service.syncNow();
    const cuts = sent().map((body) => [
      Buffer.from(body.body_b64, "base64").toString(),
      body.original_size_bytes,
      body.truncated,
    ]);
    assert.deepEqual(cuts, [
      ["h", 6, true],
      ["hé", 6, true],
    ]);
    assert.deepEqual(machine.logged.find(({ event }) => event === "upload_truncated_request")?.fields, {
      task: "bodies",
      request_id: first,
      size_bytes: 6,
      max_bytes: 2,
    });
  });

  it("applies the rules of projects: no bodies of one project, nothing of a local-only one", async () => {
    setCloud({
      bodies: { enabled: true, upload_from: "2020-01-01", per_project: { quiet: false } },
      upload: { per_project: { secret: { upload: false } } },
    });
    addBody({ project: "quiet" });
    addBody({ project: "secret" });
    const open = addBody();
    await machine.service.syncNow();
    assert.deepEqual(
      sent().map((body) => body.request_id),
      [open],
    );
  });

  it("redacts again with the current rules, before truncating", async () => {
    const key = `sk-proj-${"a1B2".repeat(8)}`;
    const old = addBody({ content: new TextEncoder().encode(`before ${key} mine-7`) });
    machine.config.redaction = { rules: [{ name: "own", pattern: "mine-[0-9]" }] };
    await machine.service.syncNow();
    const [first] = sent();
    assert.equal(first.request_id, old);
    assert.equal(
      Buffer.from(first.body_b64, "base64").toString(),
      "before [redacted:provider_api_key] [redacted:own]",
    );
    assert.deepEqual(
      [first.redaction_applied, first.redaction_summary.toSorted()],
      [true, ["email", "own", "provider_api_key"]],
    );
    // The stored body stays as it was captured.
    assert.match(new TextDecoder().decode(machine.store.bodies.get(old, "request")?.content), /mine-7/);
  });

  it("quarantines a body that fits no envelope, and continues", async () => {
    const bad = addBody({ content: Uint8Array.of(0xff) });
    const { bodies } = await machine.service.syncNow();
    assert.deepEqual([bodies?.quarantined, bodies?.pending, sent().length], [1, 0, 0]);
    const [entry] = machine.store.quarantine.list();
    assert.deepEqual(
      [entry?.kind, entry?.requestId, entry?.direction, entry?.reason, entry?.httpStatus],
      ["body", bad, "request", "the stored text is not UTF-8", null],
    );
  });

  it("sends a default content type if capture saw none", async () => {
    addBody({ contentType: null });
    await machine.service.syncNow();
    assert.equal(sent()[0]?.content_type, "application/octet-stream");
  });

  it("applies a pause that the user or another version wrote into the table", async () => {
    addBody();
    machine.store.delivery.updateState("cloud_body_sync_state", {
      paused_reason: "paused_for_lunch",
      records_policy_rejected: 7,
    });
    await machine.service.syncNow();
    assert.equal(sent().length, 0);
    assert.equal((await machine.service.resume()).ok, true);
    assert.equal((await machine.service.syncNow()).bodies?.uploaded, 1);
    assert.equal(row().records_policy_rejected, 0);
  });

  it("runs again after sync_interval_seconds", async () => {
    setCloud({ bodies: { enabled: true, upload_from: "2020-01-01", sync_interval_seconds: 7 } });
    assert.equal(readBodyPolicy(machine.ports, await machine.ports.settings()).intervalMs, 7_000);
  });

  for (const [what, off] of [
    ["body upload", { bodies: { enabled: false } }],
    ["the cloud", { enabled: false }],
  ] as const) {
    it(`sends nothing if ${what} was switched off after the body was selected`, async () => {
      const id = addBody();
      const { pending } = machine.store.bodyDelivery;
      Object.assign(machine.store.bodyDelivery, {
        pending(after: string | null, limit: number) {
          setCloud(off);
          return pending(after, limit);
        },
      });
      await machine.service.syncNow();
      assert.deepEqual([sent().length, uploadedAt(id)], [0, null]);
    });
  }

  it("sends a body only after its metadata", async () => {
    const record = sampleRecord();
    machine.store.records.insert([record]);
    machine.store.bodies.insert([
      {
        requestId: record.requestId,
        direction: "response",
        capturedAt: Date.UTC(2026, 10, 21),
        contentType: null,
        content: new TextEncoder().encode("x"),
        originalSizeBytes: 1,
        truncated: false,
        redactionApplied: false,
        redactionSummary: [],
      },
    ]);
    await machine.service.syncNow();
    assert.deepEqual(
      cloud.seen.map((seen) => seen.path),
      ["/v1/requests/batch", "/v1/daemon/whoami", `/v1/requests/${record.requestId}/body`],
    );
  });

  it("sends bodies of 120 requests in one pass", async () => {
    for (let n = 0; n < 120; n += 1) addBody();
    assert.equal((await machine.service.syncNow()).bodies?.uploaded, 120);
  });

  it("keeps the text out of the outbox", async () => {
    addBody();
    await machine.service.syncNow();
    for await (const entry of machine.ports.outbox.read()) {
      assert.equal(entry.kind, "body");
      assert.equal(JSON.stringify(entry).includes(Buffer.from("héllo").toString("base64")), false);
      assert.equal(JSON.parse(entry.payload).body_b64_length, 8);
    }
  });
});

describe("switching body sync on", () => {
  it("stamps upload_from with that moment and prints a notice, and uploads no earlier body", async () => {
    const own = await createMachine(cloud.url, { config: { cloud: { bodies: { enabled: false } } } });
    try {
      await own.service.reload();
      const before = Date.now();
      own.config.cloud = { ...(own.config.cloud as object), bodies: { enabled: true } };
      await own.service.reload();
      const { upload_from } = own.store.delivery.readState("cloud_body_sync_state");
      assert.ok(upload_from !== null && upload_from >= before && upload_from <= Date.now());
      assert.match(own.notices[0] ?? "", /Body sync is on/);
      assert.equal((await own.service.state()).bodies.uploadFrom, upload_from);
      await own.service.reload();
      assert.equal(own.notices.length, 1);
      own.config.cloud = { ...(own.config.cloud as object), bodies: { enabled: true, upload_from: "none" } };
      assert.equal((await own.service.state()).bodies.uploadFrom, null);
    } finally {
      await own.close();
    }
  });

  it("keeps the instant of the command that switched it on, however late that is noticed, once", async () => {
    const own = await createMachine(cloud.url, { config: { cloud: { bodies: { enabled: false } } } });
    try {
      const written = Date.now() - 86_400_000;
      const upload_from = new Date(written).toISOString();
      const switchTo = async (enabled: boolean) => {
        own.config.cloud = { ...(own.config.cloud as object), bodies: { enabled, upload_from } };
        await own.service.reload();
        return (await own.service.state()).bodies.uploadFrom ?? 0;
      };
      saveAnnouncedWatermark(own.store, written);
      assert.equal(await switchTo(true), written);
      assert.deepEqual(own.notices, [], "the command has printed it");
      // Switched on by hand later: bodies captured while it was off stay here.
      await switchTo(false);
      assert.ok((await switchTo(true)) > written + 80_000_000);
      assert.equal(own.notices.length, 1);
    } finally {
      await own.close();
    }
  });

  it("stamps the same switch twice with the same instant, as after a crash in between", async () => {
    const own = await createMachine(cloud.url);
    try {
      const configured = { kind: "instant", at: 1_000 } as const;
      saveAnnouncedWatermark(own.store, 1_000);
      const told = { uploadFrom: 1_000, isAnnounced: true };
      assert.deepEqual(stampWatermark(own.store, configured, 5_000), told);
      assert.deepEqual(stampWatermark(own.store, configured, 5_000), told);
      assert.equal(readWatermark(own.store, configured), 1_000);
      saveSettingWhileOff(own.store.notes, configured);
      const again = { uploadFrom: 6_000, isAnnounced: false };
      assert.deepEqual(stampWatermark(own.store, configured, 6_000), again);
      assert.deepEqual(stampWatermark(own.store, configured, 6_000), again);
      assert.equal(readWatermark(own.store, configured), 6_000);
    } finally {
      await own.close();
    }
  });

  it("resolves a `now` that the user writes later when it is first read, and keeps the instant", async () => {
    setCloud({ bodies: { enabled: true, upload_from: "now" } });
    const read = async () => readBodyPolicy(machine.ports, await machine.ports.settings()).uploadFrom ?? 0;
    const before = Date.now();
    const first = await read();
    assert.ok(first >= before && first <= Date.now());
    await until("the clock to go on", () => Date.now() > first);
    assert.equal(await read(), first);
    assert.equal((await machine.service.state()).bodies.uploadFrom, first);
    const old = addBody({ capturedAt: first - 1 });
    const young = addBody({ capturedAt: first });
    await machine.service.syncNow();
    assert.deepEqual([uploadedAt(old), uploadedAt(young) !== null], [null, true]);
  });

  it("overrides an old date in the file", async () => {
    const bodies = { enabled: false, upload_from: "2024-01-01" };
    const own = await createMachine(cloud.url, { config: { cloud: { bodies } } });
    try {
      await own.service.reload();
      own.config.cloud = { ...(own.config.cloud as object), bodies: { ...bodies, enabled: true } };
      await own.service.reload();
      assert.ok(((await own.service.state()).bodies.uploadFrom ?? 0) > Date.now() - 60_000);
    } finally {
      await own.close();
    }
  });
});
