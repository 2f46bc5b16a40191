import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, it } from "node:test";
import { REFUSALS_PER_ROUND } from "../../../core/delivery/sync/sync-run.ts";
import type { OutboxEntry } from "../../../core/ports/outbox.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import {
  type Answer,
  createMachine,
  credentialsFor,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
  TOKEN,
  takeAll,
  until,
} from "./cloud.rig.ts";

let cloud: ScriptedCloud;
let machine: Machine;

beforeEach(async () => {
  cloud = await startScriptedCloud();
  machine = await createMachine(cloud.url, { timeouts: { headersMs: 300, bodyMs: 300 } });
});
afterEach(async () => {
  await machine.close();
  await cloud.close();
});

const BATCH = "/v1/requests/batch";
const row = () => machine.store.delivery.readState("cloud_sync_state");
const add = (count: number) => {
  const records = Array.from({ length: count }, () => sampleRecord());
  machine.store.records.insert(records);
  return records.map((record) => record.requestId);
};
const idsOf = (batch: { records: { request_id: string }[] }) => batch.records.map((one) => one.request_id);

describe("metadata sync, row by row of the specification's table", () => {
  it("sends the oldest first, with the token, and stamps synced requests", async () => {
    const ids = add(3);
    const result = await machine.service.syncNow();
    assert.equal(result.kind, "synced");
    assert.deepEqual([result.report.accepted, result.report.duplicates], [3, 0]);
    const [seen] = cloud.to(BATCH);
    assert.equal(seen?.authorization, `Bearer ${TOKEN}`);
    assert.deepEqual(idsOf(seen?.body), ids);
    assert.equal(seen?.body.daemon_version, "0.4.0");
    assert.equal(machine.store.delivery.countPending(), 0);
    assert.equal((await machine.service.syncNow()).report.accepted, 0);
    assert.equal(cloud.to(BATCH).length, 1);
  });

  it("reads the records of a batch in parts, between which other work runs", async (context) => {
    const ids = add(250);
    const { delivery } = machine.store;
    const { requestsById } = delivery;
    let [inThisTurn, most] = [0, 0];
    context.mock.method(delivery, "requestsById", (asked: readonly string[]) => {
      if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
      inThisTurn += asked.length;
      most = Math.max(most, inThisTurn);
      return requestsById(asked);
    });
    await machine.service.syncNow();
    assert.deepEqual(idsOf(cloud.to(BATCH)[0]?.body), ids);
    assert.equal(most, 100);
  });

  for (const [status, reason] of [
    [401, "paused_unauthorised"],
    [403, "paused_forbidden"],
  ] as const) {
    it(`pauses on ${status}, records it in the tables and the log, and stays paused after a restart`, async () => {
      const ids = add(2);
      const before = Date.now();
      cloud.script(BATCH, { status });
      const { kind, report } = await machine.service.syncNow();
      assert.deepEqual([kind, report.reason], ["not_synced", "paused"]);
      assert.equal(row().paused_reason, reason);
      assert.equal(machine.store.delivery.readState("cloud_state").paused_reason, reason);
      assert.equal(row().last_error, `HTTP ${status}`);
      assert.ok((row().last_tick_at ?? 0) >= before && (row().last_error_at ?? 0) >= before);
      assert.deepEqual(machine.logged.find(({ event }) => event === "sync.paused")?.fields, {
        task: "sync",
        reason,
        http_status: status,
        last_request_id: ids[1],
      });
      assert.equal((await machine.service.syncNow()).report.reason, "paused");
      assert.equal(cloud.to(BATCH).length, 1);
      assert.equal(machine.store.delivery.countPending(), 2);
    });
  }

  const drip: Answer = (_, response) => {
    response.writeHead(200, { "content-length": "100000" });
    response.write("{");
  };
  const lost: Answer = (_, response) => void response.destroy();
  const failures: readonly [name: string, answer: Answer, error: string][] = [
    ...[400, 404, 408, 413, 418, 422, 425, 429, 500, 502, 503, 504].map(
      (status): [string, Answer, string] => [`HTTP ${status}`, { status }, `HTTP ${status}`],
    ),
    ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:9/" } }, "HTTP 307"],
    ["a page with 200", { status: 200, body: "<html>hello</html>" }, "HTTP 200 without outcomes"],
    ["an empty 200", { status: 200 }, "HTTP 200 without outcomes"],
    ["an unexpected 204", { status: 204 }, "HTTP 204"],
    [
      "a 200 that names fewer outcomes",
      { status: 200, body: { accepted: 0, duplicates: 0, rejected: [] } },
      "HTTP 200 with outcomes that do not match the batch",
    ],
    ["a connection that is cut", lost, "no answer: connection_reset"],
    ["an answer that never comes", () => {}, "no answer: timeout"],
    ["an answer that drips", drip, "no answer: timeout"],
    [
      "an answer without end",
      (_, response) => void response.writeHead(200).end("x".repeat(9 * 1024 * 1024)),
      "no answer: invalid_answer",
    ],
  ];
  for (const [name, answer, error] of failures) {
    it(`treats ${name} as transient: marks nothing, does not pause, sends again`, async () => {
      add(1);
      cloud.script(BATCH, answer);
      const { report } = await machine.service.syncNow();
      assert.equal(report.ok, false);
      const { consecutive_failures, last_error, last_error_at, paused_reason } = row();
      assert.deepEqual([consecutive_failures, last_error, paused_reason], [1, error, null]);
      assert.notEqual(last_error_at, null);
      assert.equal(machine.store.delivery.countPending(), 1);
      assert.equal((await machine.service.syncNow()).report.ok, true);
      assert.equal(row().consecutive_failures, 0);
      assert.equal(machine.store.delivery.countPending(), 0);
    });
  }

  it("treats a refused connection as transient", async () => {
    add(1);
    const { url } = cloud;
    await cloud.close();
    await machine.service.syncNow();
    assert.equal(row().last_error, "no answer: connection_refused");
    assert.equal(
      machine.logged.some(({ event }) => event === "cloud.transport_error"),
      true,
    );
    assert.ok(url);
  });

  it("resends a committed batch whose response was lost, and accepts the duplicates", async () => {
    const ids = add(2);
    cloud.script(BATCH, (_, response) => void response.destroy(), {
      status: 200,
      body: { accepted: 0, duplicates: 2, rejected: [] },
    });
    await machine.service.syncNow();
    const { report } = await machine.service.syncNow();
    assert.deepEqual([report.ok, report.duplicates], [true, 2]);
    assert.deepEqual(idsOf(cloud.to(BATCH)[1]?.body), ids);
    assert.equal(machine.store.delivery.countPending(), 0);
  });

  it("honours Retry-After in all its forms, and sends before its end only after a shorter backoff", async () => {
    const soon = new Date(Date.now() + 90_000).toUTCString();
    const forms: readonly [header: string, waits: boolean][] = [
      ["120", true],
      [soon, true],
      ["1000000000000", true],
      ["0", false],
      ["-1", false],
      ["1.5", false],
      ["Wed, 21 Oct 2015 07:28:00 GMT", false],
      ["soon", false],
    ];
    for (const [header, waits] of forms) {
      const own = await createMachine(cloud.url);
      try {
        own.store.records.insert([sampleRecord()]);
        cloud.script(BATCH, { status: 429, headers: { "retry-after": header } });
        await own.service.syncNow();
        const { report } = await own.service.syncNow();
        assert.equal(report.reason, waits ? "retry_after" : "done", header);
      } finally {
        await own.close();
      }
    }
  });

  it("quarantines a record that the cloud rejects, and syncs the others", async () => {
    const ids = add(3);
    cloud.script(BATCH, {
      status: 200,
      body: {
        accepted: 2,
        duplicates: 0,
        rejected: [{ request_id: ids[1], code: "invalid_record", message: "provider: is missing" }],
      },
    });
    const { report } = await machine.service.syncNow();
    assert.deepEqual([report.accepted, report.quarantined], [2, 1]);
    const [entry] = machine.store.quarantine.list();
    assert.deepEqual([entry?.requestId, entry?.reason], [ids[1], "invalid_record: provider: is missing"]);
    assert.equal(machine.store.delivery.countPending(), 0);
  });

  it("stores the cloud's message as one limited line", async () => {
    const ids = add(1);
    const rejected = [{ request_id: ids[0], code: "odd", message: `a\u001b[2Jé\n${"x".repeat(1_000)}` }];
    cloud.script(BATCH, { status: 200, body: { accepted: 0, duplicates: 0, rejected } });
    await machine.service.syncNow();
    assert.equal(machine.store.quarantine.list()[0]?.reason, `odd: a [2J  ${"x".repeat(288)}`);
  });

  for (const status of [400, 413, 422]) {
    it(`halves a batch that is refused with ${status} until one record is left, and quarantines it`, async () => {
      const ids = add(9);
      const poison = ids[4] as string;
      cloud.otherwise(BATCH, (seen, response) => {
        if (idsOf(seen.body).includes(poison)) response.writeHead(status).end();
        else {
          const accepted = seen.body.records.length;
          response.writeHead(200).end(JSON.stringify({ accepted, duplicates: 0, rejected: [] }));
        }
      });
      await machine.service.start();
      await until("everything to be settled", () => machine.store.delivery.countPending() === 0);
      const quarantine = machine.store.quarantine.list();
      assert.deepEqual(
        quarantine.map((entry) => [entry.requestId, entry.httpStatus]),
        [[poison, status]],
      );
      assert.equal(row().paused_reason, null);
    });
  }

  /** Refuses every batch that holds one of these records, with a problem. */
  const refuse = (poison: readonly string[]): Answer => {
    const code = "invalid_batch";
    return (seen, response) => {
      if (!idsOf(seen.body).some((id) => poison.includes(id))) return void takeAnswer(seen, response);
      response.writeHead(422, { "content-type": "application/problem+json" });
      response.end(JSON.stringify({ type: "about:blank", title: "Refused", status: 422, code }));
    };
  };
  const takeAnswer = takeAll as Extract<Answer, (...given: never[]) => unknown>;

  it("ends a requested sync after a limited number of batches if the cloud refuses everything, and loses nothing", async () => {
    for (const waiting of [10, 490]) {
      add(waiting);
      cloud.otherwise(
        BATCH,
        refuse(machine.store.delivery.pendingProjects(1_000, Date.now()).map(({ requestId }) => requestId)),
      );
      const before = cloud.to(BATCH).length;
      const { kind, report } = await machine.service.syncNow();
      assert.deepEqual(
        [kind, report.reason, report.message],
        ["not_synced", "refused", "HTTP 422 invalid_batch"],
      );
      assert.ok(cloud.to(BATCH).length - before <= REFUSALS_PER_ROUND);
    }
    assert.equal(machine.store.delivery.countPending(), 500);
    assert.equal(machine.store.quarantine.count(), 0);
    assert.equal(row().last_error, "HTTP 422 invalid_batch");
  });

  it("reaches a new record behind 600 old ones that the cloud refuses, then quarantines those with its code", async () => {
    const poison = add(600);
    const [good] = add(1);
    cloud.otherwise(BATCH, refuse(poison));
    await machine.service.start();
    const isTaken = () => machine.store.delivery.requestsById([good as string])[0]?.syncedAt !== null;
    await until("the new record to be taken", isTaken);
    assert.ok(cloud.to(BATCH).length <= REFUSALS_PER_ROUND);
    await until("a refused record in quarantine", () => machine.store.quarantine.count() > 0);
    const [entry] = machine.store.quarantine.list();
    assert.deepEqual(
      [entry?.reason, entry?.httpStatus],
      ["HTTP 422 invalid_batch, refused alone while another record was taken", 422],
    );
  });

  it("clears the last error once a batch is accepted", async () => {
    add(1);
    cloud.script(BATCH, { status: 503 });
    await machine.service.syncNow();
    assert.equal(row().last_error, "HTTP 503");
    await machine.service.syncNow();
    assert.deepEqual([row().last_error, row().last_error_at, row().consecutive_failures], [null, null, 0]);
  });

  it("pauses and resumes by command, at once and without a request to the cloud", async () => {
    add(1);
    assert.deepEqual(await machine.service.pause(), { kind: "paused", pausedReason: "paused_manual" });
    assert.deepEqual(await machine.service.pause(), {
      kind: "already_paused",
      pausedReason: "paused_manual",
    });
    assert.equal(row().paused_reason, "paused_manual");
    assert.equal(machine.store.delivery.readState("cloud_body_sync_state").paused_reason, "paused_manual");
    assert.equal((await machine.service.syncNow()).report.reason, "paused");
    const report = await machine.service.resume();
    assert.deepEqual([report.ok, report.httpStatus], [true, null]);
    assert.equal(machine.store.delivery.readState("cloud_body_sync_state").paused_reason, null);
    assert.equal(cloud.seen.length, 0);
    assert.equal((await machine.service.syncNow()).report.accepted, 1);
  });

  const resumes: readonly [answer: Answer, reason: string, httpStatus: number | null][] = [
    [{ status: 401 }, "key_invalid", 401],
    [{ status: 403 }, "machine_forbidden", 403],
    [{ status: 503 }, "unconfirmed", 503],
    [{ status: 200, body: "hello" }, "unconfirmed", null],
    [{ status: 302, headers: { location: "/" } }, "unconfirmed", 302],
  ];
  for (const [answer, reason, httpStatus] of resumes) {
    it(`stays paused if resume finds ${reason} ${httpStatus}`, async () => {
      add(1);
      cloud.script(BATCH, { status: 401 });
      await machine.service.syncNow();
      cloud.script("/v1/daemon/whoami", answer);
      const report = await machine.service.resume();
      assert.deepEqual([report.ok, report.reason, report.httpStatus], [false, reason, httpStatus]);
      assert.equal(row().paused_reason, "paused_unauthorised");
    });
  }

  it("applies a pause that the user or another version wrote into the table", async () => {
    add(1);
    await machine.service.syncNow();
    add(1);
    machine.store.delivery.updateState("cloud_sync_state", { paused_reason: "paused_for_lunch" });
    assert.equal((await machine.service.syncNow()).report.reason, "paused");
    assert.equal(cloud.to(BATCH).length, 1);
    assert.equal((await machine.service.resume()).httpStatus, 200);
    assert.equal((await machine.service.syncNow()).report.accepted, 1);
  });

  it("resumes if whoami returns 200, and clears pause, counters and errors in both tables", async () => {
    add(1);
    cloud.script(BATCH, { status: 500 }, { status: 401 });
    await machine.service.syncNow();
    await machine.service.syncNow();
    machine.store.delivery.updateState("cloud_body_sync_state", {
      paused_reason: "paused_unauthorised",
      consecutive_failures: 4,
      last_error: "HTTP 401",
      last_error_at: 1,
    });
    const report = await machine.service.resume();
    assert.deepEqual([report.ok, report.reason], [true, "resumed"]);
    for (const table of ["cloud_sync_state", "cloud_body_sync_state"] as const) {
      const { paused_reason, consecutive_failures, last_error, last_error_at } =
        machine.store.delivery.readState(table);
      assert.deepEqual(
        [paused_reason, consecutive_failures, last_error, last_error_at],
        [null, 0, null, null],
      );
    }
    assert.equal((await machine.service.syncNow()).report.accepted, 1);
  });
});

describe("the sent data", () => {
  it("follows the preset and its overrides, with null for fields that are not sent", async () => {
    machine.config.cloud = {
      ...(machine.config.cloud as object),
      upload: { preset: "minimal", path: true, project: false },
    };
    add(1);
    await machine.service.syncNow();
    const [sent] = cloud.to(BATCH)[0]?.body.records ?? [];
    assert.deepEqual(
      [sent.path, sent.project, sent.method, sent.prompt_hash],
      ["/v1/messages", null, null, null],
    );
    assert.equal(sent.prompt_tokens, 100);
    assert.equal("error_message_hash" in sent, false);
  });

  it("contains the prompt hash keyed if the workspace has a key, unless plain is configured; the local hash stays plain", async () => {
    const plain = "a1".repeat(32);
    const key = "5e".repeat(32);
    const keyed = createHmac("sha256", Buffer.from(key, "hex"))
      .update(Buffer.from(plain, "hex"))
      .digest("hex");
    const credentials = credentialsFor(cloud.url);
    const rows = [
      [key, undefined, keyed, "keyed"],
      [key, "plain", plain, "plain"],
      [null, undefined, plain, "plain"],
      [null, "keyed", null, null],
    ] as const;
    for (const [at, [promptHashKey, setting, hash, kind]] of rows.entries()) {
      await machine.ports.credentials.write({ ...credentials, promptHashKey });
      const upload = setting === undefined ? {} : { prompt_hash_kind: setting };
      machine.config.cloud = { ...(machine.config.cloud as object), upload };
      const local = { ...sampleRecord(), promptHash: plain };
      machine.store.records.insert([local]);
      await machine.service.syncNow();
      const [sent] = cloud.to(BATCH)[at]?.body.records ?? [];
      assert.deepEqual(
        [sent.prompt_hash, sent.prompt_hash_kind],
        [hash, kind],
        `${promptHashKey} ${setting}`,
      );
      assert.equal(machine.store.delivery.requestsById([local.requestId])[0]?.promptHash, plain);
    }
    assert.ok(!JSON.stringify(machine.logged).includes(key));
  });

  it("contains ids of sessions and agents hashed with this installation's key, and none without it", async () => {
    const key = "1d".repeat(32);
    const ids = { sessionId: "thr-demo-1", turnId: "turn-1", agentId: "agent-1", parentAgentId: null };
    const hmac = (id: string) =>
      createHmac("sha256", Buffer.from(key, "hex")).update(id).digest("hex").slice(0, 32);
    for (const [at, idKey] of [key, null].entries()) {
      machine.ports.idKey = () => Promise.resolve(idKey);
      machine.store.records.insert([{ ...sampleRecord(), ...ids }]);
      await machine.service.syncNow();
      const [sent] = cloud.to(BATCH)[at]?.body.records ?? [];
      assert.deepEqual(
        [sent.session_id, sent.turn_id, sent.agent_id, sent.parent_agent_id],
        idKey === null
          ? [null, null, null, null]
          : [hmac("thr-demo-1"), hmac("turn-1"), hmac("agent-1"), null],
      );
    }
    assert.ok(!JSON.stringify(machine.logged).includes(key));
  });

  it("excludes a local-only project, whose requests are all marked as skipped", async () => {
    machine.config.cloud = {
      ...(machine.config.cloud as object),
      upload: { per_project: { secret: { upload: false } } },
    };
    const kept = Array.from({ length: 1200 }, () => sampleRecord({ project: "secret" }));
    machine.store.records.insert(kept);
    const [open] = add(1);
    // Each stamping waits for the disk: other work of the daemon has its turn in between.
    const { settle } = machine.store.delivery;
    let turns = 0;
    const stampedInTurn: number[] = [];
    let next: NodeJS.Immediate;
    const countTurn = () => {
      turns += 1;
      next = setImmediate(countTurn);
    };
    countTurn();
    Object.assign(machine.store.delivery, {
      settle(settled: Parameters<typeof settle>[0]) {
        if (settled.skipped.length > 0) stampedInTurn.push(turns);
        settle(settled);
      },
    });
    const { report } = await machine.service.syncNow();
    clearImmediate(next!);
    assert.deepEqual([stampedInTurn.length, new Set(stampedInTurn).size], [3, 3]);
    assert.equal(report.accepted, 1);
    assert.deepEqual(idsOf(cloud.to(BATCH)[0]?.body), [open]);
    machine.config.cloud = { ...(machine.config.cloud as object), upload: {} };
    await machine.service.syncNow();
    assert.equal(cloud.to(BATCH).length, 1);
    assert.equal(machine.store.delivery.countPending(), 0);
  });

  it("excludes a project that became local-only after its records were selected", async () => {
    const [kept, sent] = [sampleRecord({ project: "secret" }), sampleRecord({ project: "open" })];
    machine.store.records.insert([kept, sent]);
    const { pendingProjects } = machine.store.delivery;
    Object.assign(machine.store.delivery, {
      pendingProjects(limit: number, now: number) {
        const upload = { per_project: { secret: { upload: false } } };
        machine.config.cloud = { ...(machine.config.cloud as object), upload };
        return pendingProjects(limit, now);
      },
    });
    assert.equal((await machine.service.syncNow()).report.accepted, 1);
    assert.deepEqual(idsOf(cloud.to(BATCH)[0]?.body), [sent.requestId]);
    const [found] = machine.store.delivery.requestsById([kept.requestId]);
    assert.deepEqual([found?.syncedAt, found?.syncSkippedAt !== null], [null, true]);
    assert.equal(machine.store.delivery.countPending(), 0);
  });

  it("goes only to the origin that issued the token", async () => {
    add(1);
    const other = await startScriptedCloud();
    try {
      machine.config.cloud = { ...(machine.config.cloud as object), base_url: other.url };
      assert.equal((await machine.service.syncNow()).kind, "not_connected");
      assert.equal((await machine.service.state()).otherOrigin, cloud.url);
      assert.equal((await machine.service.whoami()).kind, "not_connected");
      assert.equal(other.seen.length + cloud.seen.length, 0);
    } finally {
      await other.close();
    }
  });

  it("is empty if the cloud was disabled in the meantime", async () => {
    add(1);
    const { settings } = machine.ports;
    let readings = 0;
    // What decides that there is something to do reads it first.
    const switchedOff: typeof settings = async () => {
      const now = await settings();
      readings += 1;
      return readings < 3 ? now : { ...now, cloud: { ...now.cloud, enabled: false } };
    };
    const service = createCloudService({ ...machine.ports, settings: switchedOff });
    assert.equal((await service.syncNow()).kind, "not_synced");
    assert.equal((await service.syncNow()).kind, "not_connected");
    assert.deepEqual(cloud.seen, []);
  });

  it("is first written to the outbox unchanged, in a valid chain", async () => {
    const ids = add(2);
    await machine.service.syncNow();
    const entries: OutboxEntry[] = [];
    for await (const entry of machine.ports.outbox.read()) entries.push(entry);
    assert.equal(entries.length, 1);
    assert.deepEqual(entries[0]?.requestIds, ids);
    assert.deepEqual(entries[0]?.projects, ["acme-web"]);
    assert.deepEqual(JSON.parse(entries[0]?.payload ?? ""), cloud.to(BATCH)[0]?.body);
    assert.deepEqual(await machine.ports.outbox.verify(), { ok: true, entries: 1, firstSeq: 1, lastSeq: 1 });
  });
});

describe("a record that is completed after it was sent", () => {
  const incomplete = sampleRecord({ tokensComplete: false, costPicoUsd: null, costSource: "unpriced" });
  const complete = { ...incomplete, tokensComplete: true, costPicoUsd: 5n, costSource: "computed" as const };
  const sent = () =>
    cloud
      .to(BATCH)
      .flatMap(({ body }) => body.records.map((one: { cost_pico_usd: unknown }) => one.cost_pico_usd));

  it("is sent again with the missing fields", async () => {
    machine.store.records.insert([incomplete]);
    await machine.service.syncNow();
    machine.store.records.insert([complete]);
    await machine.service.syncNow();
    await machine.service.syncNow();
    assert.deepEqual(sent(), [null, "5"]);
  });

  it("is sent again even if the response to the incomplete one arrives later", async () => {
    machine.store.records.insert([incomplete]);
    cloud.script(BATCH, (seen, response) => {
      machine.store.records.insert([complete]);
      response
        .writeHead(200)
        .end(JSON.stringify({ accepted: seen.body.records.length, duplicates: 0, rejected: [] }));
    });
    await machine.service.syncNow();
    await machine.service.syncNow();
    assert.deepEqual(sent(), [null, "5"]);
    assert.equal(machine.store.delivery.countPending(), 0);
  });
});

describe("cloud_state", () => {
  it("contains the connection even in a new database, and follows the configuration", async () => {
    const own = await createMachine(cloud.url);
    try {
      await own.service.start();
      const row = own.store.delivery.readState("cloud_state");
      assert.deepEqual(
        [row.enabled, row.workspace_name, row.machine_id, row.hostname],
        [1, "Work", "0".repeat(32), "laptop"],
      );
      const mirrored = await own.ports.credentials.open(row.api_key_mirror ?? new Uint8Array());
      assert.deepEqual(mirrored, await own.ports.credentials.read());
      own.store.delivery.updateState("cloud_state", { workspace_id: "another", workspace_name: "Another" });
      await own.service.reload();
      const { workspace_id, workspace_name } = own.store.delivery.readState("cloud_state");
      assert.deepEqual([workspace_id, workspace_name], ["w1", "Work"]);
      own.config.cloud = { ...(own.config.cloud as object), enabled: false };
      await own.service.reload();
      assert.equal(own.store.delivery.readState("cloud_state").enabled, 0);
    } finally {
      await own.close();
    }
  });

  it("contains when the cloud last accepted data", async () => {
    const own = await createMachine(cloud.url);
    try {
      own.store.records.insert([sampleRecord({})]);
      assert.equal(own.store.delivery.readState("cloud_state").last_connected_at, null);
      const before = Date.now();
      await own.service.syncNow();
      const { last_connected_at } = own.store.delivery.readState("cloud_state");
      assert.ok((last_connected_at ?? 0) >= before);
    } finally {
      await own.close();
    }
  });
});
