import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import { editConfig } from "../../cli/home/edit-config.ts";
import {
  type Answer,
  credentialsFor,
  type ScriptedCloud,
  startScriptedCloud,
  TOKEN,
  takeAll,
} from "../daemon/cloud/cloud.rig.ts";
import { onNodeOnly, waitFor, withoutResets } from "./meter-process.rig.ts";
import { type SyncMachine, startSyncMachine } from "./sync-machine.rig.ts";

/** The time limit of the suite, in milliseconds. */
const timeout = 900_000;

const BATCH = "/v1/requests/batch";
const BODY = "/v1/requests/";
const STORED: Answer = { status: 204 };

/** A machine that is paired with the scripted cloud. */
async function startPaired(cloud: ScriptedCloud): Promise<SyncMachine> {
  const machine = await startSyncMachine(["[cloud]", "enabled = true", `base_url = "${cloud.url}"`]);
  await createCredentialStore(machine.home).write(credentialsFor(cloud.url));
  return machine;
}

const lost: Answer = (_, response) => void response.destroy();
const half: Answer = (_, response) => {
  response.writeHead(200, { "content-length": "1000" }).write('{"accepted":');
  setImmediate(() => response.destroy());
};
/** A response that never pauses for long and never ends. */
const drip: Answer = (_, response) => {
  response.writeHead(200);
  const next = setInterval(() => response.write(" "), 200);
  response.on("close", () => clearInterval(next));
};

describe("a daemon process and a cloud with scripted responses", {
  skip: onNodeOnly,
  timeout,
}, () => {
  let cloud: ScriptedCloud;
  let machine: SyncMachine;
  /** The response to every batch and body until it is replaced, since the daemon also retries by itself. */
  let batch: Answer = takeAll;
  let body: Answer = STORED;
  /** A machine whose cloud responds too slowly from the start: it waits for a minute. */
  let dripping: { cloud: ScriptedCloud; machine: SyncMachine };

  before(async () => {
    cloud = await startScriptedCloud();
    const other = await startScriptedCloud();
    other.script(BATCH, drip);
    const [one, two] = await Promise.all([startPaired(cloud), startPaired(other)]);
    cloud.otherwise(BODY, (seen, response) => answerWith(body, seen, response));
    cloud.otherwise(BATCH, (seen, response) => answerWith(batch, seen, response));
    machine = one;
    dripping = { cloud: other, machine: two };
    await two.call(1);
  });
  after(async () => {
    await machine?.close();
    await dripping?.machine.close();
    await cloud?.close();
    await dripping?.cloud.close();
  });

  const failure = async () => {
    const { sync } = await machine.snapshot();
    return [sync.pausedReason, sync.consecutiveFailures > 0, sync.lastError];
  };

  const ticket = (code: string) => ({
    status: 201,
    body: {
      code,
      poll_token: "p".repeat(43),
      verification_url: `${cloud.url}/connect?code=${code}`,
      expires_in: 600,
      interval: 0,
    },
  });
  const poll = (body: object): Answer => ({ status: 200, body });
  const approved = { status: "approved", sync_token: TOKEN, workspace: { id: "w2", name: "Second" } };
  const connect = () => machine.attempt("cloud", "connect", "--force", "--base-url", cloud.url);
  const pairAgain = async () => {
    cloud.script("/v1/pairing/start", ticket("ABCD-1234"));
    cloud.script("/v1/pairing/poll", poll(approved));
    assert.equal((await connect()).code, 0);
  };

  const transient: readonly (readonly [name: string, answer: Answer, error: string])[] = [
    ...[400, 408, 422, 429, 500, 502, 503].map((status): [string, Answer, string] => [
      `HTTP ${status}`,
      { status },
      `HTTP ${status}`,
    ]),
    ["a redirect", { status: 302, headers: { location: "https://elsewhere.example/" } }, "HTTP 302"],
    ["a page with 200", { status: 200, body: "<html>hello</html>" }, "HTTP 200 without outcomes"],
    [
      "a 200 that says too little",
      { status: 200, body: { accepted: 0, duplicates: 0, rejected: [] } },
      "HTTP 200 with outcomes that do not match the batch",
    ],
    ["a connection that is cut", lost, "no answer: connection_reset"],
    ["an answer that is cut", half, "no answer: connection_reset"],
  ];
  for (const [name, answer, error] of transient) {
    // The daemon notices this only when it abandons the whole request after a minute.
    const skip = answer === half ? withoutResets : false;
    it(`metadata: ${name} is transient: marks nothing, does not pause, sends again`, { skip }, async () => {
      batch = answer;
      await machine.call(1);
      assert.equal(await machine.sync(), false);
      assert.deepEqual(await failure(), [null, true, error]);
      assert.equal((await machine.snapshot()).sync.pending, 1);
      batch = takeAll;
      assert.equal(await machine.sync(), true);
      const { sync } = await machine.snapshot();
      assert.deepEqual([sync.pausedReason, sync.consecutiveFailures, sync.pending], [null, 0, 0]);
    });
  }

  it("metadata: a batch whose response was lost after the commit is resent, and its duplicates are accepted", async () => {
    const committed = new Set<string>();
    const commit = (records: readonly { request_id: string }[]) => {
      const fresh = records.filter(({ request_id: id }) => !committed.has(id));
      for (const { request_id: id } of fresh) committed.add(id);
      return { accepted: fresh.length, duplicates: records.length - fresh.length, rejected: [] };
    };
    batch = (seen, response) => {
      commit(seen.body.records);
      response.destroy();
    };
    await machine.call(2);
    assert.equal((await machine.attempt("sync")).code, 1);
    batch = (seen, response) => void response.end(JSON.stringify(commit(seen.body.records)));
    await machine.run("sync");
    batch = takeAll;
    assert.deepEqual([committed.size, (await machine.status()).sync.pending], [2, 0]);
  });

  it("metadata: Retry-After in each of its forms", async () => {
    const soon = new Date(Date.now() + 90_000);
    const forms: readonly (readonly [header: string, isWaitedFor: boolean])[] = [
      ["120", true],
      [soon.toUTCString(), true],
      // The two obsolete forms of a date (RFC 9110, section 5.6.7).
      [rfc850(soon), true],
      [asctime(soon), true],
      ["1000000000000", true],
      ["0", false],
      ["-1", false],
      ["1.5", false],
      ["Wed, 21 Oct 2015 07:28:00 GMT", false],
      ["soon", false],
    ];
    for (const [header, isWaitedFor] of forms) {
      batch = { status: 429, headers: { "retry-after": header } };
      await machine.call(1);
      assert.equal(await machine.sync(), false);
      batch = takeAll;
      assert.equal(await machine.sync(), !isWaitedFor, header);
      assert.equal((await machine.snapshot()).sync.pending, isWaitedFor ? 1 : 0, header);
      if (!isWaitedFor) continue;
      // A Retry-After is forgotten with the key that it was for.
      await pairAgain();
      assert.equal(await machine.sync(), true, header);
    }
  });

  it("metadata: a record that the cloud rejects is quarantined, the others are synced", async () => {
    batch = (seen, response) => {
      const [{ request_id }, ...others] = seen.body.records;
      const rejected = [{ request_id, code: "invalid_record", message: "no" }];
      response.end(JSON.stringify({ accepted: others.length, duplicates: 0, rejected }));
    };
    await machine.call(3);
    assert.equal(await machine.sync(), true);
    batch = takeAll;
    const { quarantined, sync } = await machine.snapshot();
    // More than one, if the daemon sent some of them by itself.
    assert.ok(quarantined >= 1 && sync.pending === 0);
    assert.match(await machine.run("cloud", "quarantine", "list"), /invalid_record: no/);
    await machine.run("cloud", "quarantine", "retry", "--all");
    await machine.run("sync");
    assert.equal((await machine.status()).quarantined, 0);
  });

  for (const [status, reason] of [
    [401, "paused_unauthorised"],
    [403, "paused_forbidden"],
  ] as const) {
    it(`metadata: ${status} pauses, and resume depends on whoami`, async () => {
      batch = { status };
      await machine.call(1);
      assert.equal((await machine.attempt("sync")).code, 1);
      assert.equal((await machine.status()).banner, "PAUSED");
      batch = takeAll;
      const answers: readonly (readonly [Answer, RegExp])[] = [
        [{ status: 401 }, /meter: .*(?:invalid|not valid)/],
        [{ status: 403 }, /re-invite/],
        [{ status: 503 }, /503/],
        [{ status: 429, headers: { "retry-after": "5" } }, /429/],
        [lost, /connection_reset/],
      ];
      for (const [answer, said] of answers) {
        cloud.script("/v1/daemon/whoami", answer);
        const { code, stderr } = await machine.attempt("cloud", "resume");
        assert.deepEqual([code, (await failure())[0]], [1, reason]);
        assert.match(stderr, said);
      }
      assert.equal(await machine.run("cloud", "resume"), "Sync is resumed.\n");
      assert.deepEqual(await failure(), [null, false, null]);
      await machine.run("sync");
    });
  }

  it("bodies: each response has the specified outcome", async () => {
    await machine.run("project", "kept", "set", "body-capture", "on");
    await machine.run("cloud", "privacy", "set", "bodies.enabled", "true");
    const bodies = async () => {
      const { bodies: found, quarantined } = await machine.snapshot();
      const isFailing = found.consecutiveFailures > 0;
      return [found.pending, found.pausedReason, isFailing, found.lastError, quarantined];
    };
    // Each starts with the two bodies of one call. Columns: pending, reason of the pause, failures, last error, quarantine.
    const rows: readonly (readonly [answer: Answer, expected: readonly unknown[]])[] = [
      [{ status: 204 }, [0, null, false, null, 0]],
      [
        { status: 200, body: { stored: false, reason: "store_prompt_content_disabled" } },
        [2, null, false, null, 0],
      ],
      [{ status: 425 }, [1, null, false, null, 0]],
      [{ status: 404 }, [0, null, false, null, 1]],
      [{ status: 400 }, [0, null, false, null, 1]],
      [{ status: 413 }, [0, null, false, null, 1]],
      [{ status: 422 }, [0, null, false, null, 1]],
      [{ status: 408 }, [2, null, true, "HTTP 408", 0]],
      [{ status: 429 }, [2, null, true, "HTTP 429", 0]],
      [{ status: 500 }, [2, null, true, "HTTP 500", 0]],
      [{ status: 200, body: "<html>" }, [2, null, true, "HTTP 200", 0]],
      [lost, [2, null, true, "no answer: connection_reset", 0]],
      [{ status: 401 }, [2, "paused_unauthorised", false, "HTTP 401", 0]],
      [{ status: 403 }, [2, "paused_forbidden", false, "HTTP 403", 0]],
    ];
    for (const [answer, expected] of rows) {
      await machine.call(1, "kept");
      const label = typeof answer === "function" ? "lost" : `${answer.status}`;
      let first: string | null = null;
      body = (seen, response) => {
        first ??= `${seen.path} ${seen.body.direction}`;
        const isTerminal = typeof answer === "object" && [400, 404, 413, 422, 425].includes(answer.status);
        const isFirst = first === `${seen.path} ${seen.body.direction}`;
        answerWith(isFirst || !isTerminal ? answer : STORED, seen, response);
      };
      await machine.sync();
      assert.deepEqual(await bodies(), expected, label);
      assert.equal((await failure())[0], null, label);
      body = STORED;
      if (expected[1] !== null) await machine.run("cloud", "resume");
      if (expected[4] !== 0) await machine.run("cloud", "quarantine", "retry", "--all");
      await machine.sync();
      assert.deepEqual((await bodies()).slice(0, 3), [0, null, false], label);
    }
  });

  it("bodies: a body above the cap is truncated, a project's rule skips it, `upload_from` is stamped on a switch", async () => {
    const sent = () => cloud.to(BODY).filter(({ path }) => path.endsWith("/body"));
    await machine.run("project", "kept", "set", "body-capture", "on");
    await machine.run("cloud", "privacy", "set", "bodies.enabled", "false");
    await machine.call(1, "kept");
    assert.match(await machine.run("cloud", "privacy", "set", "bodies.enabled", "true"), /from now on \(/);
    const before = sent().length;
    await machine.run("sync");
    assert.equal(sent().length, before, "captured before body sync was switched on");
    await machine.run("project", "quiet", "set", "body-capture", "on");
    await machine.run("cloud", "privacy", "set", "bodies.upload", "false", "--project", "quiet");
    await machine.call(1, "quiet");
    await machine.call(1, "kept");
    await machine.run("sync");
    assert.equal(sent().length, before + 2);

    // The caps are read at every pass, and fall on every byte of the multibyte characters in the prompt.
    for (let cap = 60; cap < 80; cap += 3) {
      await editConfig(machine.home, [
        { path: ["cloud", "bodies", "max_body_bytes_per_upload"], value: cap },
      ]);
      const from = sent().length;
      await machine.call(1, "kept");
      await machine.sync();
      const request = sent()
        .slice(from)
        .find(({ body: envelope }) => envelope.direction === "request")?.body;
      const bytes = Buffer.from(request.body_b64, "base64");
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      assert.ok(bytes.length <= cap && bytes.length > cap - 4, `${bytes.length} of ${cap}`);
      assert.ok(request.truncated && request.original_size_bytes > bytes.length);
      assert.ok(text.startsWith("{"));
    }
  });

  it("the supervisor restarts a worker that ends, and the daemon continues", async () => {
    const rename = (from: string, to: string) => {
      const db = new DatabaseSync(databaseFile(machine.home));
      db.exec(`alter table ${from} rename to ${to}`);
      db.close();
    };
    const events = (event: string) =>
      machine.meter.log().filter((line) => line.event === event && line.task === "sync").length;
    const [exits, spawns] = [events("cloud.supervisor.worker_exited"), events("cloud.supervisor.spawned")];
    rename("cloud_sync_state", "gone");
    try {
      // Through the API: a command would read the tables itself and refuse them.
      await machine.sync().catch(() => {});
      await waitFor("the worker's end", () => events("cloud.supervisor.worker_exited") > exits);
    } finally {
      rename("gone", "cloud_sync_state");
    }
    await waitFor("its new start", () => events("cloud.supervisor.spawned") > spawns);
    await machine.call(1);
    await waitFor("a sync", () => machine.sync().catch(() => false));
    assert.equal((await machine.snapshot()).sync.pending, 0);
  });

  it("pairing: expired, failed, replaced by a newer request; then approved with the token", async () => {
    for (const status of ["expired", "failed"]) {
      cloud.script("/v1/pairing/start", ticket("ABCD-1234"));
      cloud.script("/v1/pairing/poll", poll({ status: "pending" }), poll({ status }));
      const { code, stderr } = await connect();
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(status));
    }
    cloud.otherwise("/v1/pairing/poll", poll({ status: "pending" }));
    cloud.script("/v1/pairing/start", ticket("ABCD-1234"), ticket("EFGH-5678"));
    const startsBefore = cloud.to("/v1/pairing/start").length;
    const pollsBefore = cloud.to("/v1/pairing/poll").length;
    const first = connect();
    await waitFor("the first request to be polled", () => cloud.to("/v1/pairing/poll").length > pollsBefore);
    const second = connect();
    await waitFor("the second request", () => cloud.to("/v1/pairing/start").length >= startsBefore + 2);
    cloud.otherwise("/v1/pairing/poll", poll(approved));
    const results = await Promise.all([first, second]);
    assert.match(results[1].stdout, /EFGH-5678[\s\S]*\nConnected to Second\.\n/);
    await machine.run("sync");
  });

  it("a name that does not resolve is transient, and starts no pairing", async () => {
    const away = "https://nobody.meter-tests.internal";
    const own = await startSyncMachine(["[cloud]", "enabled = true", `base_url = "${away}"`]);
    try {
      assert.match((await own.attempt("cloud", "connect")).stderr, /did not start \(no answer: dns/);
      await createCredentialStore(own.home).write(credentialsFor(away));
      await own.call(1);
      assert.equal((await own.attempt("sync")).code, 1);
      const { sync } = await own.status();
      assert.match(sync.last_error, /^no answer: dns/);
      assert.deepEqual([sync.paused_reason, sync.pending], [null, 1]);
    } finally {
      await own.close();
    }
  });

  it("metadata: an endless slow response is abandoned after a minute, and its batch is resent", async () => {
    const { machine: slow, cloud: other } = dripping;
    // From the log: the state drops its last error when the next attempt succeeds.
    const timedOut = () =>
      slow.meter
        .log()
        .some(({ event, error }) => event === "cloud.transport_error" && error === "no answer: timeout");
    await waitFor("the end of patience", async () => timedOut(), 120_000);
    await waitFor(
      "the next try, by the daemon itself",
      async () => (await slow.snapshot()).sync.pending === 0,
      60_000,
    );
    assert.ok(other.to(BATCH).length >= 2);
  });
});

/** Returns a response as the scripted cloud would. */
function answerWith(
  answer: Answer,
  ...[seen, response]: Parameters<Extract<Answer, (...given: never) => void>>
) {
  if (typeof answer === "function") return answer(seen, response);
  response.writeHead(answer.status, answer.headers);
  response.end(typeof answer.body === "object" ? JSON.stringify(answer.body) : answer.body);
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** `Sunday, 06-Nov-94 08:49:37 GMT`. */
function rfc850(date: Date): string {
  const [, day, month, year = "", time] = date.toUTCString().split(" ");
  return `${DAYS[date.getUTCDay()]}, ${day}-${month}-${year.slice(2)} ${time} GMT`;
}

/** `Sun Nov  6 08:49:37 1994`. */
function asctime(date: Date): string {
  const [week = "", day = "", month, year, time] = date.toUTCString().split(" ");
  return `${week.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}
