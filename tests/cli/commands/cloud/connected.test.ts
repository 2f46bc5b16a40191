import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { type Served, serve } from "../../../../adapters/http/serve.ts";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../../cli/home/database-file.ts";
import { decidePairing } from "../../../../cloud/store/pairing.ts";
import { normalisePairingCode } from "../../../../core/wire/pairing.ts";
import { openStore } from "../../../../daemon/store/open-store.ts";
import { type CloudRig, createRig, START, type TestWorkspace } from "../../../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../../cloud/kit/engines.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const DAY = "2026-11-21";

describeOnOneEngine("meter cloud, against a real cloud", (engine) => {
  let rig: CloudRig;
  let served: Served;
  let baseUrl: string;
  let workspace: TestWorkspace;
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  /** The answer of the person at the dashboard to the next code. */
  let approves = true;

  before(async () => {
    rig = await createRig(engine);
    workspace = await rig.addWorkspace();
    const app = rig.app();
    served = await serve(
      async (request) => {
        const answer = await app.fetch(request);
        if (new URL(request.url).pathname === "/v1/pairing/start") {
          const { code } = (await answer.clone().json()) as { code: string };
          await decidePairing(rig.db, {
            code: normalisePairingCode(code) ?? "",
            approved: approves,
            workspaceId: workspace.id,
            userId: workspace.userId,
            decidedBy: workspace.userId,
            now: rig.clock.now(),
          });
        }
        return answer;
      },
      { host: "127.0.0.1", port: 0 },
    );
    baseUrl = `http://127.0.0.1:${served.port}`;
    sample = await createSampleHome(
      (store) =>
        store.records.insert([1, 2, 3].map((n) => sampleRecord({ requestedAt: START - n * 60_000 }))),
      "# mine\n[cloud] # here\n",
    );
  });
  after(async () => {
    await served?.close(0);
    await rig?.close();
    sample?.remove();
  });
  const meter = (...words: string[]) => runWords(sample.home, words);
  const credentials = () => existsSync(join(sample.home, "cloud-credentials.json"));

  it("reports a denial, and changes nothing", async () => {
    approves = false;
    const { code, stderr } = await meter("cloud", "connect", "--base-url", baseUrl);
    approves = true;
    assert.equal(code, 1);
    assert.match(stderr, /^meter: .*denied/);
    assert.ok(!credentials());
    assert.equal(readFileSync(join(sample.home, "config.toml"), "utf8"), "# mine\n[cloud] # here\n");
  });

  it("connects: shows the link, the code and the older requests, and saves the address", async () => {
    const { code, stdout, stderr } = await meter("cloud", "connect", "--base-url", baseUrl);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(
      stdout,
      /^3 older requests \(since 2026-11-21\) will be sent too\. To keep them here, use --from-now\.\n/,
    );
    assert.match(stdout, /\n {2}http:\/\/\S+\/connect\?code=\w{4}-\w{4}\n {2}code {2}\w{4}-\w{4}\n/);
    assert.match(stdout, /\nConnected to .+\.\n/);
    assert.ok(credentials());
    assert.equal(
      readFileSync(join(sample.home, "config.toml"), "utf8"),
      `# mine\n[cloud] # here\nenabled = true\nbase_url = "${baseUrl}"\n`,
    );
    // The command may have sent the older requests before it ended.
    assert.match((await meter("sync")).stdout, /^Requests: [03] sent\.\n$/);
  });

  it("reports a valid connection instead of pairing again", async () => {
    const { code, stdout } = await meter("cloud", "connect");
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^This machine is already connected to .+\.\nPair it again: meter cloud connect --force\n$/,
    );
    const fromNow = await meter("cloud", "connect", "--from-now");
    assert.match(fromNow.stderr, /^meter: --from-now has no effect on an existing connection/);
  });

  it("sends pending records, by both of its names, and shows it in the status", async () => {
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    store.records.insert([sampleRecord({ requestedAt: START })]);
    store.close();
    assert.equal((await meter("cloud", "pause")).stdout, "Sync is paused.\nResume: meter cloud resume\n");
    const paused = await meter("cloud", "status");
    assert.equal(paused.code, 1);
    assert.match(paused.stdout, /^PAUSED: /);
    assert.match(paused.stdout, /\nwaiting +1 request, the oldest from /);
    const kept = await meter("sync");
    assert.equal(kept.code, 1);
    assert.match(
      kept.stderr,
      /^meter: Nothing was sent; 1 request waits\. Sending was paused by meter cloud pause\. /,
    );
    assert.equal((await meter("cloud", "resume")).stdout, "Sync is resumed.\n");
    assert.equal((await meter("sync")).stdout, "Requests: 1 sent.\n");
    assert.equal((await meter("cloud", "sync")).stdout, "Requests: 0 sent.\n");
    const { code, stdout } = await meter("cloud", "status", "--json");
    const status = JSON.parse(stdout);
    // Everything is sent, but no daemon is running that would send later records.
    assert.equal(code, 1);
    assert.deepEqual(
      [status.banner, status.reasons, status.sync.pending],
      ["DEGRADED", ["daemon_stopped"], 0],
    );
    assert.match(status.sync.last_tick_at, /^\d{4}-\d\d-\d\dT/);
    assert.equal(status.base_url, baseUrl);
  });

  it("shows the workspace and person of the key", async () => {
    const { stdout } = await meter("cloud", "whoami");
    assert.ok(stdout.includes(workspace.id));
    assert.match(stdout, /\nbodies {5}not stored by this workspace\n/);
    assert.match(stdout, /\nkey {8}mtr_sync_…[\w-]{6} \(sync\), created /);
    const said = JSON.parse((await meter("cloud", "whoami", "--json")).stdout);
    assert.equal(said.workspace.id, workspace.id);
  });

  it("reports an invalid key or a machine that may not send, and exits with 1", async () => {
    const turnAway = async (words: RegExp) => {
      const { code, stdout, stderr } = await meter("cloud", "whoami");
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, words);
    };
    await rig.db.updateTable("sync_keys").set({ revoked_at: START }).execute();
    await turnAway(/^meter: The cloud no longer accepts this machine's key\. .*: meter cloud connect\n$/);
    await rig.db.updateTable("sync_keys").set({ revoked_at: null }).execute();
    await rig.db.updateTable("machines").set({ blocked_at: START }).execute();
    await turnAway(/^meter: The workspace does not permit this machine\. Ask its owner to re-invite it/);
    await rig.db.updateTable("machines").set({ blocked_at: null }).execute();
    await rig.db.updateTable("workspaces").set({ deleted_at: START }).execute();
    await turnAway(
      /^meter: The workspace was deleted\. Pair this machine with another workspace: meter cloud connect\n$/,
    );
    await rig.db.updateTable("workspaces").set({ deleted_at: null }).execute();
    assert.equal((await meter("cloud", "whoami")).code, 0);
  });

  it("compares both totals, and lists what was not sent", async () => {
    const { code, stdout } = await meter("cloud", "reconcile", "--from", DAY, "--to", DAY);
    assert.match(stdout, /\nrequests +4 +4 +0\n/);
    assert.equal(code, stdout.includes("INVESTIGATE") ? 1 : 0);
    const said = JSON.parse((await meter("cloud", "reconcile", "--from", DAY, "--to", DAY, "--json")).stdout);
    assert.equal(said.is_delivery_exact, true);
    const usual = JSON.parse((await meter("cloud", "reconcile", "--json")).stdout);
    const today = new Date().toISOString().slice(0, 10);
    assert.ok(usual.to_date <= today && Date.parse(today) - Date.parse(usual.to_date) <= 86_400_000);
    assert.equal(Date.parse(usual.to_date) - Date.parse(usual.from_date), 29 * 86_400_000);
    assert.equal(said.local.requests, 4);
    assert.equal(typeof said.difference_pico_usd, "string");
    assert.equal(said.pruned_before, null);
  });

  it("says that a prune deleted records of the compared period", async () => {
    assert.equal((await meter("prune", "--before", DAY, "--utc", "--yes")).code, 0);
    const dayBefore = new Date(Date.parse(DAY) - 86_400_000).toISOString().slice(0, 10);
    const { stderr } = await meter("cloud", "reconcile", "--from", dayBefore, "--to", DAY);
    assert.equal(
      stderr,
      `meter: \`meter prune\` deleted the records from before ${DAY}T00:00:00.000Z. Earlier calls are missing here.\n`,
    );
    assert.equal((await meter("cloud", "reconcile", "--from", DAY, "--to", DAY)).stderr, "");
  });

  it("lists everything in the audit", async () => {
    const said = JSON.parse((await meter("cloud", "privacy", "audit", "--json")).stdout);
    assert.deepEqual([said.batches, said.requests, said.origins], [2, 4, [baseUrl]]);
    assert.equal(said.log.intact, true);
    const fields = said.fields.map(({ field }: { field: string }) => field);
    assert.ok(fields.includes("prompt_tokens"));
    assert.ok(!fields.includes("source_workdir") && !fields.includes("path"));
  });

  it("turns body upload on with one notice, and with the same time in the notice, the file and the state", async () => {
    const { stdout, code, stderr } = await meter("cloud", "privacy", "set", "bodies.enabled", "true");
    const [, stamp = ""] = /captured from now on \((\S+)\)/.exec(stdout) ?? [];
    assert.deepEqual([code, stderr, stdout.split(stamp).length], [0, "", 2]);
    assert.ok(
      readFileSync(join(sample.home, "config.toml"), "utf8").includes(
        `enabled = true\nupload_from = "${stamp}"`,
      ),
    );
    // The uploader only now finds that it is switched on.
    const synced = await meter("sync");
    assert.deepEqual([synced.code, synced.stderr], [0, ""]);
    assert.doesNotMatch(synced.stdout, /body sync is on|from now on/);
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home), { readOnly: true });
    const { upload_from } = store.delivery.readState("cloud_body_sync_state");
    store.close();
    assert.equal(new Date(upload_from ?? 0).toISOString(), stamp);
    const shown = JSON.parse((await meter("cloud", "privacy", "show", "--json")).stdout);
    assert.equal(shown.bodies.upload_from, stamp);
    const again = await meter("cloud", "privacy", "set", "bodies.enabled", "true");
    assert.equal(again.stdout, "Body upload was already on.\n");
  });

  it("revokes the key when it disconnects, and deletes it with a warning while offline", async () => {
    assert.deepEqual(await meter("cloud", "disconnect"), {
      code: 0,
      stdout: "Disconnected. Metering continues.\n",
      stderr: "",
    });
    assert.ok(!credentials());
    assert.equal((await meter("cloud", "disconnect")).stdout, "This machine is not connected.\n");
    assert.equal((await meter("cloud", "whoami")).code, 1);
    assert.match((await meter("cloud", "status")).stdout, /^NOT-CONFIGURED: /);

    const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
    store.records.insert([sampleRecord({ requestedAt: START })]);
    const anew = await meter("cloud", "connect", "--from-now");
    assert.deepEqual([anew.code, store.delivery.countPending()], [0, 0]);
    store.close();
    assert.match(anew.stdout, /^1 older request \(since 2026-11-21\) stays on this machine\.\n/);
    await served.close(0);
    const offline = await meter("cloud", "disconnect");
    assert.equal(offline.code, 0);
    assert.match(offline.stderr, /^meter: The key was deleted here but could not be revoked \(.+\)/);
    assert.ok(!credentials());
  });
});
