import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { createCredentialStore } from "../../../../adapters/cloud-credentials/credential-store.ts";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../../cli/home/database-file.ts";
import { openStore } from "../../../../daemon/store/open-store.ts";
import {
  type Answer,
  credentialsFor,
  type ScriptedCloud,
  startScriptedCloud,
  takeAll,
  WHOAMI,
} from "../../../daemon/cloud/cloud.rig.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

describe("meter cloud connect --base-url", () => {
  it("overrides the environment and the file, and is saved only after pairing", async () => {
    const cloud = await startScriptedCloud();
    const written = '[cloud]\nbase_url = "http://127.0.0.1:1"\n';
    const sample = await createSampleHome(() => {}, written);
    try {
      cloud.otherwise("/v1/pairing/start", { status: 503 });
      const { code, stderr } = await runWords(sample.home, ["cloud", "connect", "--base-url", cloud.url], {
        HALTON_METER_CLOUD_URL: "http://127.0.0.1:2",
      });
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `meter: Could not connect to ${cloud.url}: pairing did not start (HTTP 503).\nCheck that the cloud answers there: curl ${cloud.url}/healthz\n`,
      );
      assert.deepEqual(
        cloud.seen.map(({ path }) => path),
        ["/v1/pairing/start"],
      );
      assert.equal(readFileSync(join(sample.home, "config.toml"), "utf8"), written);
    } finally {
      sample.remove();
      await cloud.close();
    }
  });
});

describe("meter cloud pause and resume", () => {
  let cloud: ScriptedCloud;
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  beforeEach(async () => {
    cloud = await startScriptedCloud();
    sample = await createSampleHome(() => {}, `[cloud]\nenabled = true\nbase_url = "${cloud.url}"\n`);
    await createCredentialStore(sample.home).write(credentialsFor(cloud.url));
  });
  afterEach(async () => {
    sample.remove();
    await cloud.close();
  });

  const meter = (...words: string[]) => runWords(sample.home, ["cloud", ...words]);
  async function rows() {
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home), { readOnly: true });
    const tables = ["cloud_state", "cloud_sync_state", "cloud_body_sync_state"] as const;
    const reasons = tables.map((table) => store.delivery.readState(table).paused_reason);
    const { consecutive_failures, last_error, last_error_at } = store.delivery.readState("cloud_sync_state");
    store.close();
    return { reasons, failures: [consecutive_failures, last_error, last_error_at] };
  }
  async function pausedBy(reason: string): Promise<void> {
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    const change = {
      paused_reason: reason,
      consecutive_failures: 2,
      last_error: "HTTP 401",
      last_error_at: 7,
    };
    store.delivery.updateState("cloud_sync_state", change);
    store.delivery.updateState("cloud_body_sync_state", change);
    store.close();
  }

  it("ends a manual pause at once, without asking the cloud", async () => {
    cloud.otherwise("/v1/daemon/whoami", { status: 401 });
    assert.deepEqual(await meter("pause"), {
      code: 0,
      stdout: "Sync is paused.\nResume: meter cloud resume\n",
      stderr: "",
    });
    const paused = "paused_manual";
    assert.deepEqual((await rows()).reasons, [paused, paused, paused]);
    assert.equal(
      (await meter("pause")).stdout,
      "Nothing changed. Sending was paused by meter cloud pause. Continue: meter cloud resume\n",
    );
    const { code, stdout } = await meter("status");
    assert.deepEqual([code, stdout.split(":")[0]], [1, "PAUSED"]);
    assert.deepEqual(await meter("resume"), { code: 0, stdout: "Sync is resumed.\n", stderr: "" });
    assert.deepEqual((await rows()).reasons, [null, null, null]);
    assert.deepEqual(cloud.seen, []);
  });

  for (const reason of ["paused_unauthorised", "paused_forbidden", "paused_for_lunch"]) {
    it(`ends ${reason} after whoami answers 200, and clears both tables`, async () => {
      await pausedBy(reason);
      assert.deepEqual(await meter("resume"), { code: 0, stdout: "Sync is resumed.\n", stderr: "" });
      assert.deepEqual(await rows(), { reasons: [null, null, null], failures: [0, null, null] });
      assert.match((await meter("status")).stdout, /\nlast connected +\d+ s ago\n/);
      assert.deepEqual(
        cloud.seen.map(({ path }) => path),
        ["/v1/daemon/whoami"],
      );
    });
  }

  it("reports an invalid key if none is stored any more", async () => {
    await pausedBy("paused_unauthorised");
    await createCredentialStore(sample.home).clear();
    const { code, stderr } = await meter("resume");
    assert.equal(code, 1);
    assert.match(stderr, /the key is invalid: pair this machine again/);
    assert.deepEqual(cloud.seen, []);
  });

  it("makes status exit with 1 while DEGRADED, such as right after the daemon stopped", async () => {
    await meter("sync");
    const stopped = await meter("status");
    assert.equal(stopped.code, 1);
    assert.match(
      stopped.stdout,
      /^DEGRADED: The daemon is not running, so nothing is sent\. Start it: (npx )?meter start\n/,
    );
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    // As if another version had stored it.
    store.delivery.saveMachineState("sync_machine", "null", "cloud_sync_state", { consecutive_failures: 3 });
    store.close();
    const degraded = await meter("status");
    assert.deepEqual([degraded.code, degraded.stdout.split(":")[0]], [1, "DEGRADED"]);
  });

  const refusals: readonly [what: string, answer: Answer, said: RegExp][] = [
    [
      "a real 401",
      { status: 401 },
      /the key is invalid: pair this machine again with `(npx )?meter cloud connect`/,
    ],
    ["403", { status: 403 }, /ask the owner to re-invite this machine/],
    ["503", { status: 503 }, /HTTP 503/],
    ["no answer", (_, response) => void response.destroy(), /no answer: connection_reset/],
  ];
  for (const [what, answer, said] of refusals) {
    it(`changes nothing on ${what}, reports it, and exits with 1`, async () => {
      await pausedBy("paused_unauthorised");
      cloud.script("/v1/daemon/whoami", answer);
      const { code, stdout, stderr } = await meter("resume");
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, said);
      const { reasons, failures } = await rows();
      assert.deepEqual(reasons.slice(1), ["paused_unauthorised", "paused_unauthorised"]);
      assert.deepEqual(failures, [2, "HTTP 401", 7]);
    });
  }
});

describe("meter cloud ledger", () => {
  it("reports ledgers that can't be compared after a stated restore, as status and doctor do, until they are accepted", async () => {
    const cloud = await startScriptedCloud();
    const sample = await createSampleHome(() => {}, `[cloud]\nenabled = true\nbase_url = "${cloud.url}"\n`);
    try {
      await createCredentialStore(sample.home).write(credentialsFor(cloud.url));
      const meter = (...words: string[]) => runWords(sample.home, words);
      const chain = (seq: number, letter: string) => ({ seq, hash: letter.repeat(64), asked_hash: null });
      const empty = chain(0, "0");
      const answer = (costs: ReturnType<typeof chain>, restored: object | null = null): Answer => ({
        status: 200,
        body: { workspace_id: "w1", prompt_views: empty, audit_events: empty, costs, restored },
      });
      const now = new Date().toISOString();
      const restored = {
        generation: "01994b8e-7c00-7000-8000-000000000000",
        ...{ backup_at: "2001-02-03T04:05:06.000Z", restored_at: now, server_time: now },
      };
      const rewritten = answer(chain(7, "d"), restored);
      cloud.script("/v1/daemon/ledger-heads", answer(chain(5, "a")), rewritten, rewritten);
      cloud.otherwise("/v1/daemon/ledger-heads", answer(chain(7, "d")));
      assert.equal((await meter("cloud", "ledger")).code, 0);
      const fault =
        "The cloud's ledger of costs lacks row 5, which this machine saw, or has another. The cloud states a restore from a backup. " +
        "This machine saved no hashes that are old enough to compare, so it can't tell whether the ledger was rewritten.";
      const found = await meter("cloud", "ledger");
      assert.equal(found.code, 1);
      const [said, restore, advice, fix] = found.stdout.split("\n");
      assert.equal(said, fault);
      assert.match(restore ?? "", /^The cloud was restored from a backup of 2001-02-03T04:0/);
      assert.match(advice ?? "", /whether they restored that backup, and accept only if they did\.$/);
      assert.equal(fix, "Accept the cloud's current ledgers: meter cloud ledger --accept");
      const texts = async () => {
        const all = [await meter("cloud", "status"), await meter("doctor")];
        return all.map(({ stdout }) => stdout.replaceAll(/\s+/g, " ").includes(fault));
      };
      assert.deepEqual(await texts(), [true, true]);
      const accepted = await meter("cloud", "ledger", "--accept");
      assert.equal(accepted.code, 0, accepted.stdout);
      assert.match(accepted.stdout, /\nCosts: 7 rows, dddddddddddddddd…/);
      assert.deepEqual(await texts(), [false, false]);
    } finally {
      sample.remove();
      await cloud.close();
    }
  });
});

describe("meter cloud sync", () => {
  let cloud: ScriptedCloud;
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  const config = (bodies = "") => `[cloud]\nenabled = true\nbase_url = "${cloud.url}"\n${bodies}`;
  beforeEach(async () => {
    cloud = await startScriptedCloud();
    const records = Array.from({ length: 10 }, () => sampleRecord());
    sample = await createSampleHome((store) => store.records.insert(records), config());
    await createCredentialStore(sample.home).write(credentialsFor(cloud.url));
  });
  afterEach(async () => {
    sample.remove();
    await cloud.close();
  });
  const meter = (...words: string[]) => runWords(sample.home, words);
  const problem = (status: number, code: string): Answer => ({
    status,
    headers: { "content-type": "application/problem+json" },
    body: { type: "about:blank", title: "No", status, code },
  });

  it("exits with 1 if the cloud refuses everything, with the code, the number of waiting records, and what to do", async () => {
    cloud.otherwise("/v1/requests/batch", problem(422, "invalid_batch"));
    const { code, stdout, stderr } = await meter("sync");
    assert.deepEqual([code, stdout], [1, "Requests: 0 sent.\n"]);
    assert.match(stderr, /^meter: The cloud refused every request, .*\(HTTP 422 invalid_batch\)\./m);
    assert.match(stderr, /10 requests wait on this machine .* meter cloud privacy show\n$/);
    const status = await meter("cloud", "status");
    assert.match(status.stdout, /\nlast error +HTTP 422 invalid_batch \(/);
    assert.match(status.stdout, /\nquarantined +0$/m);
  });

  it("reports its progress every few seconds, even without a terminal and with --json", async () => {
    for (const words of [["sync"], ["cloud", "sync", "--json"]]) {
      const asked = Promise.withResolvers<() => void>();
      cloud.script("/v1/requests/batch", (seen, response) => {
        asked.resolve(() => (takeAll as Extract<Answer, (...given: never[]) => void>)(seen, response));
      });
      // The cloud answers after the progress message.
      mock.timers.enable({ apis: ["setInterval"] });
      const done = meter(...words);
      const answer = await asked.promise;
      mock.timers.tick(5_000);
      mock.timers.reset();
      answer();
      const { code, stderr } = await done;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^meter: Still sending: \d+ requests? left\.\n$/);
      const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
      store.records.insert([sampleRecord()]);
      store.close();
    }
  });

  it("exits with 1 if bodies failed or are paused, and with 0 if the workspace does not store them", async () => {
    await meter("sync");
    const bodies = "[cloud.bodies]\nenabled = true\nupload_from = 'none'\n";
    writeFileSync(join(sample.home, "config.toml"), config(bodies));
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    const ids = store.records
      .read({ afterSeq: 0, limit: 2, from: null, to: null })
      .map((one) => one.requestId);
    store.bodies.insert(
      ids.map((requestId) => ({
        requestId,
        direction: "request",
        capturedAt: 7,
        contentType: null,
        content: new Uint8Array([97]),
        originalSizeBytes: 1,
        truncated: false,
        redactionApplied: false,
        redactionSummary: [],
      })),
    );
    store.close();
    const gate = { ...WHOAMI, workspace: { ...WHOAMI.workspace, store_prompt_content: false } };
    cloud.script(
      "/v1/daemon/whoami",
      { status: 200, body: gate },
      { status: 503 },
      problem(403, "machine_blocked"),
    );
    const off = await meter("sync");
    assert.equal(off.code, 0, off.stderr);
    assert.match(
      off.stdout,
      /\nBodies: 0 sent, 2 waiting\.\n2 bodies wait on this machine: the workspace does not store/,
    );
    const failed = await meter("sync");
    assert.equal(failed.code, 1);
    assert.match(
      failed.stderr,
      /^meter: Not all bodies were sent: HTTP 503\. 2 bodies wait and will be tried again\.\n$/,
    );
    const paused = await meter("sync");
    assert.equal(paused.code, 1);
    assert.match(
      paused.stderr,
      /^meter: Bodies are not sent; 2 bodies wait\. The workspace does not permit this machine\. /,
    );
    assert.equal((await meter("cloud", "resume")).code, 0);
    const sent = await meter("sync");
    assert.deepEqual(
      [sent.code, sent.stdout, sent.stderr],
      [0, "Requests: 0 sent.\nBodies: 2 sent, 0 waiting.\n", ""],
    );
    const { stdout } = await meter("cloud", "status");
    assert.doesNotMatch(stdout, /does not store|HTTP 503|policy/);
    assert.match(stdout, /\nbodies +upload is on, 0 waiting\n/);
  });

  const pauses: readonly [answer: Answer, banner: RegExp][] = [
    [
      problem(401, "invalid_token"),
      /^PAUSED: The cloud no longer accepts this machine's key\. Pair .*: meter cloud\s+connect\n/,
    ],
    [
      problem(403, "machine_blocked"),
      /^PAUSED: The workspace does not permit this machine\. Ask its owner to re-invite it/,
    ],
    [
      problem(403, "workspace_deleted"),
      /^PAUSED: The workspace was deleted\. Pair .* with another workspace: meter\s+cloud\s+connect\n/,
    ],
  ];
  for (const [answer, banner] of pauses) {
    it(`starts with the fix if it is paused: ${banner.source.slice(9, 40)}`, async () => {
      cloud.script("/v1/requests/batch", answer);
      const { code, stderr } = await meter("sync");
      const sentence = stderr.slice(stderr.indexOf("wait. ") + 6).trim();
      assert.deepEqual([code, stderr.startsWith("meter: Nothing was sent; 10 requests wait. ")], [1, true]);
      const { stdout } = await meter("cloud", "status");
      assert.match(stdout, banner);
      assert.ok(stdout.replaceAll(/\s+/g, " ").startsWith(`PAUSED: ${sentence}`), sentence);
    });
  }

  it("pairs again without --force if the key is refused, and the new key ends that pause", async () => {
    cloud.script("/v1/requests/batch", problem(401, "invalid_token"));
    await meter("sync");
    cloud.script("/v1/daemon/whoami", problem(401, "invalid_token"));
    cloud.otherwise("/v1/pairing/start", {
      status: 201,
      body: {
        code: "ABCD-EFGH",
        poll_token: "p".repeat(43),
        verification_url: `${cloud.url}/connect?code=ABCD-EFGH`,
        expires_in: 600,
        interval: 2,
      },
    });
    const approved = {
      status: "approved",
      sync_token: `mtr_sync_${"b".repeat(64)}`,
      workspace: WHOAMI.workspace,
    };
    cloud.otherwise("/v1/pairing/poll", { status: 200, body: approved });
    const { code, stdout } = await meter("cloud", "connect");
    assert.equal(code, 0);
    assert.match(
      stdout,
      /\nConnected to Work\.\nRequests and prompts of this machine belong to Ann\.\nNothing is sent while the daemon is not running\.\nStart it: meter start\nSend once: meter sync\n$/,
    );
    assert.equal((await meter("sync")).stdout, "Requests: 10 sent.\n");
    // A new key does not end the operator's pause, and connect says so.
    await meter("cloud", "pause");
    const again = await meter("cloud", "connect", "--force");
    assert.match(
      again.stdout,
      /\nConnected to Work\.\nRequests and prompts of this machine belong to Ann\.\nSync is paused \(paused_manual\); nothing is sent\.\nResume: meter cloud resume\n$/,
    );
    const held = await meter("cloud", "connect");
    assert.match(
      held.stdout,
      /^This machine is already connected to Work\.\n.*\nSync is paused \(paused_manual\); nothing is sent\./,
    );
  });

  it("refuses to pause, resume, sync and reconcile if nothing is connected", async () => {
    await createCredentialStore(sample.home).clear();
    const commands = ["pause", "resume", "sync", "reconcile", "whoami"];
    for (const words of commands.map((command) => ["cloud", command])) {
      assert.deepEqual(await meter(...words), {
        code: 1,
        stdout: "",
        stderr: "meter: This machine is not connected.\nConnect it: meter cloud connect\n",
      });
    }
    assert.match((await meter("cloud", "status")).stdout, /^NOT-CONFIGURED: /);
  });
});
