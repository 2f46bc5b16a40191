import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { type CloudProcess, killCloudProcesses, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../cloud/kit/person.ts";
import { credentialsFor } from "../daemon/cloud/cloud.rig.ts";
import { connectMeter, shownCode, spawnMeter } from "./connect-meter.rig.ts";
import { onNodeOnly, removeHome, waitFor } from "./meter-process.rig.ts";
import { type SyncMachine, startSyncMachine } from "./sync-machine.rig.ts";

/** The time limit of the suite, in milliseconds. */
const timeout = 900_000;

const today = () => new Date().toISOString().slice(0, 10);

describe("a daemon and a cloud, both processes, on the specification's three daemon tables", {
  skip: onNodeOnly,
  timeout,
}, () => {
  let machine: SyncMachine;
  let cloud: CloudProcess;
  let cloudHome: string;
  let ann: Person;

  before(async () => {
    cloudHome = mkdtempSync(join(tmpdir(), "meter-cloud-real-"));
    const env = {
      METER_CLOUD_LIMITS_USER_PER_MINUTE: "100000",
      METER_CLOUD_LIMITS_KEY_PER_MINUTE: "100000",
      METER_CLOUD_LIMITS_PAIRING_PER_MINUTE: "1000",
      METER_CLOUD_LIMITS_POLL_PER_MINUTE: "1000",
    };
    [machine, cloud] = await Promise.all([
      startSyncMachine(),
      startCloudProcess({ home: cloudHome, env, withDatabase: true }),
    ]);
    ann = await signUp(cloud.url, { name: "Ann", email: "ann@example.com" });
  });
  after(async () => {
    await ann?.close();
    await machine?.close();
    killCloudProcesses();
    await cloud?.exited;
    removeHome(cloudHome);
  });

  const credentials = () => join(machine.home, "cloud-credentials.json");
  const connect = (...words: string[]) => connectMeter(machine.home, cloud.url, ann, words);
  const workspace = (path: string) => `/v1/workspaces/${ann.workspaceId}/${path}`;
  const ask = async (status: number, ...asked: Parameters<Person["ask"]>) => {
    const answer = await ann.ask(...asked);
    assert.equal(answer.status, status, `${asked[0]} ${asked[1]}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  /** Starts from a machine that is connected to Ann's own workspace, regardless of its earlier state. */
  async function paired(): Promise<void> {
    const whoami = await machine.attempt("cloud", "whoami", "--json");
    if (whoami.code === 0 && JSON.parse(whoami.stdout).workspace.id === ann.workspaceId) return;
    await connect("--force");
  }

  async function disconnected(): Promise<void> {
    await machine.run("cloud", "disconnect");
  }

  /** Asserts that both sides have everything that was recorded. */
  async function assertDelivered(): Promise<void> {
    const said = JSON.parse(
      await machine.run("cloud", "reconcile", "--from", today(), "--to", today(), "--json"),
    );
    assert.deepEqual(
      [said.is_delivery_exact, said.difference_pico_usd, said.cloud.requests],
      [true, "0", (await machine.meter.rows()).length],
    );
  }

  it("pairing: a denial changes nothing", async () => {
    await disconnected();
    const deny = {
      approve: async (code: string) =>
        void (await ask(204, "POST", "/v1/pairing/deny", { code, workspace_id: ann.workspaceId })),
    };
    await assert.rejects(connectMeter(machine.home, cloud.url, deny), /ended with 1: [\s\S]*denied/);
    assert.ok(!existsSync(credentials()));
    assert.equal((await machine.status()).banner, "NOT-CONFIGURED");
  });

  it("pairing: Ctrl-C cancels the code, even with a daemon: a later approval has no effect", async () => {
    await disconnected();
    const child = spawnMeter(machine.home, ["cloud", "connect", "--base-url", cloud.url]);
    const code = await waitFor("the code", () => shownCode(child.output()));
    child.process.kill("SIGINT");
    assert.equal(await child.ended, 130);
    assert.match(child.output(), /Pairing was cancelled\.\n$/);
    assert.equal(
      (await ann.ask("POST", "/v1/pairing/approve", { code, workspace_id: ann.workspaceId })).status,
      204,
    );
    const { status } = await machine.connectStatus();
    assert.ok(["idle", "failed"].includes(status), status);
    assert.ok(!existsSync(credentials()));
  });

  it("pairing: approved, and the daemon sends the pending requests", async () => {
    await disconnected();
    await machine.call(3);
    assert.match(await connect(), /\nConnected to Main\.\n/);
    await waitFor("the first batch", async () => (await machine.status()).sync.pending === 0);
    await assertDelivered();
  });

  it("pairing: a valid connection is reported; --force pairs again and revokes the previous key", async () => {
    await paired();
    const [machineBefore] = (await ask(200, "GET", workspace("machines"))).items;
    const again = await machine.run("cloud", "connect", "--base-url", cloud.url);
    assert.match(again, /^This machine is already connected to Main\.\n/);
    await connect("--force");
    const { items } = await ask(200, "GET", workspace("machines"));
    assert.deepEqual([items.length, items[0].id], [1, machineBefore.id]);
    assert.notEqual(items[0].key.id, machineBefore.key.id);
    await machine.call(1);
    await machine.run("sync");
    await assertDelivered();
  });

  it("403: a blocked machine pauses as forbidden until it is re-invited, and loses nothing", async () => {
    await paired();
    const [{ id }] = (await ask(200, "GET", workspace("machines"))).items;
    await ask(204, "POST", workspace(`machines/${id}/block`));
    await machine.call(5);
    const refused = await machine.attempt("sync");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /The workspace does not permit this machine\./);
    const paused = await machine.attempt("cloud", "status");
    assert.equal(paused.code, 1);
    assert.match(paused.stdout, /^PAUSED: /);
    assert.match(
      paused.stdout,
      /\npaused +paused_forbidden: The workspace does not permit this machine\. Ask its owner/,
    );
    assert.match(paused.stdout, /\nlast error +HTTP 403 /);
    const [line] = machine.meter.log().filter(({ event }) => event === "sync.paused");
    assert.deepEqual([line?.reason, line?.http_status], ["paused_forbidden", 403]);

    const tooEarly = await machine.attempt("cloud", "resume");
    assert.equal(tooEarly.code, 1);
    assert.match(tooEarly.stderr, /re-invite/);
    await machine.crash();
    assert.equal((await machine.status()).sync.paused_reason, "paused_forbidden");

    await ask(204, "POST", workspace(`machines/${id}/invite`));
    // Nothing resumes automatically: the operator resumes it.
    assert.match((await machine.attempt("sync")).stderr, /The workspace does not permit this machine\./);
    assert.equal(await machine.run("cloud", "resume"), "Sync is resumed.\n");
    await machine.run("sync");
    const { banner, sync, bodies } = await machine.status();
    assert.deepEqual(
      [banner, sync.paused_reason, sync.consecutive_failures, sync.last_error, bodies.paused_reason],
      ["ACTIVE", null, 0, null, null],
    );
    await assertDelivered();
  });

  it("401: a revoked key pauses as unauthorised; resume reports it as invalid; pairing again continues", async () => {
    await paired();
    const [{ key }] = (await ask(200, "GET", workspace("machines"))).items;
    await ask(204, "DELETE", workspace(`keys/${key.id}`));
    await machine.call(2);
    assert.match((await machine.attempt("sync")).stderr, /no longer accepts this machine's key\. Pair/);
    const resumed = await machine.attempt("cloud", "resume");
    assert.equal(resumed.code, 1);
    assert.match(resumed.stderr, /invalid|not valid/);
    assert.match(resumed.stderr, /cloud connect/);
    assert.equal((await machine.status()).sync.paused_reason, "paused_unauthorised");
    // The stored key does not authenticate: no --force is needed.
    await connect();
    await machine.run("sync");
    assert.match(await machine.run("cloud", "status"), /^ACTIVE: /);
    assert.equal((await machine.status()).banner, "ACTIVE");
    await assertDelivered();
  });

  it("a manual pause sends nothing until resume, which makes no request", async () => {
    await paired();
    await machine.run("cloud", "pause");
    await machine.call(2);
    assert.match((await machine.attempt("sync")).stderr, /2 requests wait\. Sending was paused/);
    assert.equal((await machine.status()).sync.pending, 2);
    assert.equal(await machine.run("cloud", "resume"), "Sync is resumed.\n");
    await machine.run("sync");
    await assertDelivered();
  });

  it("bodies: none is sent while the workspace stores none, 204 once it does, and a project's rule takes precedence", async () => {
    await paired();
    for (const project of ["kept", "unsent"])
      await machine.run("project", project, "set", "body-capture", "on");
    assert.match(await machine.run("cloud", "privacy", "set", "bodies.enabled", "true"), /from now on/);
    await machine.run("cloud", "privacy", "set", "bodies.upload", "false", "--project", "unsent");
    await machine.call(1, "kept");
    await machine.call(1, "unsent");
    assert.match(
      await machine.run("sync"),
      /\nBodies: 0 sent, 2 waiting\.\n2 bodies wait on this machine: the workspace does not store prompt content\.\n2 bodies stay /,
    );
    const rejected = (await machine.status()).bodies;
    assert.deepEqual(
      [rejected.paused_reason, rejected.consecutive_failures, rejected.last_error],
      [null, 0, null],
    );
    assert.equal((await machine.status()).quarantined, 0);
    const [tick] = machine.meter
      .log()
      .filter(({ event }) => event === "cloud.body_uploader.policy_rejected_tick");
    assert.ok(Number(tick?.count) > 0 && typeof tick?.hint === "string");

    await ask(200, "PATCH", workspace("settings"), { store_prompt_content: true });
    assert.match(await machine.run("sync"), /\nBodies: \d sent, /);
    const rows = await machine.meter.rows();
    const requestId = (project: string) => rows.find((row) => row.project === project)?.requestId;
    const stored = await ask(200, "GET", `/v1/traces/${requestId("kept")}/body`);
    assert.match(stored.request.text, /"model":\s*"gpt-5"/);
    await ask(404, "GET", `/v1/traces/${requestId("unsent")}/body`);
  });

  it("bodies: 404 for a request of another workspace is quarantined with its code", async () => {
    await paired();
    await machine.run("project", "kept", "set", "body-capture", "on");
    await machine.run("cloud", "privacy", "set", "bodies.enabled", "true");
    // Synced to one workspace, captured and not yet sent; then the machine is paired with another.
    await ask(200, "PATCH", workspace("settings"), { store_prompt_content: false });
    await machine.call(1, "kept");
    await machine.run("sync");
    const { workspace: other } = await ask(201, "POST", "/v1/organisations", { name: "Elsewhere" });
    await ask(200, "PATCH", `/v1/workspaces/${other.id}/settings`, { store_prompt_content: true });
    const approve = async (code: string) =>
      void (await ask(204, "POST", "/v1/pairing/approve", { code, workspace_id: other.id }));
    await connectMeter(machine.home, cloud.url, { approve }, ["--force"]);
    await machine.run("sync");
    const entries = JSON.parse(await machine.run("cloud", "quarantine", "list", "--json"));
    assert.equal((await machine.status()).quarantined, 2, JSON.stringify(entries));
    assert.match(await machine.run("cloud", "quarantine", "list"), /404/);
  });

  it("disconnect deletes the key and warns if the cloud is unreachable", async () => {
    // A port without a listening program, which fetch does not refuse by itself.
    const away = "http://127.0.0.1:2";
    const own = await startSyncMachine(["[cloud]", "enabled = true", `base_url = "${away}"`]);
    try {
      await createCredentialStore(own.home).write(credentialsFor(away));
      await own.call(1);
      assert.equal((await own.attempt("sync")).code, 1);
      const { sync } = await own.status();
      assert.deepEqual([sync.paused_reason, sync.last_error], [null, "no answer: connection_refused"]);
      const { code, stdout, stderr } = await own.attempt("cloud", "disconnect");
      assert.deepEqual([code, stdout], [0, "Disconnected. Metering continues.\n"]);
      assert.match(stderr, /The key was deleted here but could not be revoked \(.+\)/);
      assert.ok(!existsSync(join(own.home, "cloud-credentials.json")));
      assert.equal((await own.status()).banner, "NOT-CONFIGURED");
      await own.call(1);
    } finally {
      await own.close();
    }
  });
});
