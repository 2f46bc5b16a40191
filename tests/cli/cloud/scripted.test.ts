import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createCredentialStore } from "../../../adapters/cloud-credentials/mod.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/mod.ts";
import { databaseFile } from "../../../cli/database-file.ts";
import { openStore } from "../../../daemon/store/mod.ts";
import {
  type Answer,
  credentialsFor,
  type ScriptedCloud,
  startScriptedCloud,
} from "../../daemon/cloud/cloud-kit.ts";
import { createSampleHome, runWords } from "../run-words.ts";

describe("meter cloud connect --base-url", () => {
  it("goes before the environment and the file, and is kept only once the machine is paired", async () => {
    const cloud = await startScriptedCloud();
    const written = '[cloud]\nbase_url = "http://127.0.0.1:1"\n';
    const sample = await createSampleHome(() => {}, written);
    try {
      cloud.otherwise("/v1/pairing/start", { status: 503 });
      const { code, stderr } = await runWords(sample.home, ["cloud", "connect", "--base-url", cloud.url], {
        HALTON_METER_CLOUD_URL: "http://127.0.0.1:2",
      });
      assert.equal(code, 1);
      assert.match(stderr, /pairing did not start \(HTTP 503\)/);
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
    const reasons = tables.map((table) => store.readCloudState(table).paused_reason);
    const { consecutive_failures, last_error, last_error_at } = store.readCloudState("cloud_sync_state");
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
    store.updateCloudState("cloud_sync_state", change);
    store.updateCloudState("cloud_body_sync_state", change);
    store.close();
  }

  it("ends the operator's own pause at once, whatever the cloud would say", async () => {
    cloud.otherwise("/v1/daemon/whoami", { status: 401 });
    assert.deepEqual(await meter("pause"), {
      code: 0,
      stdout: "Paused. meter cloud resume goes on.\n",
      stderr: "",
    });
    const paused = "paused_manual";
    assert.deepEqual((await rows()).reasons, [paused, paused, paused]);
    assert.equal((await meter("pause")).stdout, "It is paused already (paused_manual).\n");
    const { code, stdout } = await meter("status");
    assert.deepEqual([code, stdout.split(":")[0]], [1, "PAUSED"]);
    assert.deepEqual(await meter("resume"), { code: 0, stdout: "Resumed.\n", stderr: "" });
    assert.deepEqual((await rows()).reasons, [null, null, null]);
    assert.deepEqual(cloud.seen, []);
  });

  for (const reason of ["paused_unauthorised", "paused_forbidden", "paused_for_lunch"]) {
    it(`ends ${reason} once whoami answers 200, and clears both tables`, async () => {
      await pausedBy(reason);
      assert.deepEqual(await meter("resume"), { code: 0, stdout: "Resumed.\n", stderr: "" });
      assert.deepEqual(await rows(), { reasons: [null, null, null], failures: [0, null, null] });
      assert.match((await meter("status")).stdout, /\nlast connected +\d+ s ago\n/);
      assert.deepEqual(
        cloud.seen.map(({ path }) => path),
        ["/v1/daemon/whoami"],
      );
    });
  }

  it("calls the key invalid where none is stored any more", async () => {
    await pausedBy("paused_unauthorised");
    await createCredentialStore(sample.home).clear();
    const { code, stderr } = await meter("resume");
    assert.equal(code, 1);
    assert.match(stderr, /the key is invalid: pair this machine again/);
    assert.deepEqual(cloud.seen, []);
  });

  it("has a status that ends with 1 while DEGRADED, and with 0 while ACTIVE", async () => {
    await meter("sync");
    const active = await meter("status");
    assert.deepEqual([active.code, active.stdout.split(":")[0]], [0, "ACTIVE"]);
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    // As if another version had kept it.
    store.saveMachine("sync_machine", "null", "cloud_sync_state", { consecutive_failures: 3 });
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
    it(`changes nothing on ${what}, says so, and ends with 1`, async () => {
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
