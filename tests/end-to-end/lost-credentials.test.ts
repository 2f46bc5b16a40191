import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import {
  createHome,
  onNodeOnly,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

describe("a lost credentials file", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let home: string;
  let file: string;
  before(async () => {
    // An unreachable cloud: the test checks what is stored here.
    home = createHome([
      ...["[proxy]", "port = 0", "[api]", "port = 0"],
      ...["[cloud]", "enabled = true", 'base_url = "https://127.0.0.1:1"'],
    ]);
    file = join(home, "cloud-credentials.json");
    const credentials = {
      ...{
        token: "mtr_sync_abcdefghijklmnop",
        origin: "https://127.0.0.1:1",
        baseUrl: "https://127.0.0.1:1",
      },
      ...{ workspaceId: "w", workspaceName: "Work", machineId: null, promptHashKey: null, createdAt: 0 },
    };
    const stored = createCredentialStore(home);
    const store = await openStore(createSqliteOpener(), databaseFile(home));
    store.delivery.updateState("cloud_state", { enabled: 1, api_key_mirror: await stored.seal(credentials) });
    store.close();
  });
  after(() => removeHome(home));

  it("is restored by a daemon, which reports it once in its log and in the status", async () => {
    const meter = await startMeter(home);
    try {
      await waitFor("the file", () => existsSync(file));
      const sentence = /the stored cloud credentials were lost and have been restored/;
      assert.match((await meter.run(["status"])).stdout.replaceAll(/\s+/g, " "), sentence);
      assert.equal(meter.log().filter(({ warning }) => sentence.test(String(warning))).length, 1);
    } finally {
      await meter.stop();
    }
  });

  it("is restored by a command if it is damaged, which reports it", async () => {
    writeFileSync(file, "{", { mode: 0o600 });
    const { stderr, stdout } = await runMeter(home, ["cloud", "status"]);
    assert.match(stderr, /^meter: the stored cloud credentials were damaged and have been restored/m);
    assert.match(stdout, /Work/);
    assert.doesNotMatch((await runMeter(home, ["cloud", "status"])).stderr, /restored/);
  });

  it("is not restored after a disconnect", async () => {
    assert.match((await runMeter(home, ["cloud", "disconnect"])).stdout, /isconnected/);
    const meter = await startMeter(home);
    assert.doesNotMatch((await meter.run(["cloud", "status"])).stderr, /restored/);
    await meter.stop();
    const names = readdirSync(home, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      names.filter((name) => /^cloud-credentials\.(?!lock)/.test(name)),
      [],
    );
    for (const name of names)
      if (statSync(join(home, name)).isFile())
        assert.ok(!readFileSync(join(home, name), "latin1").includes("mtr_sync_abcdefghijklmnop"), name);
  });

  it("is not restored if it was deleted before the disconnect", async () => {
    rmSync(file, { force: true });
    assert.match((await runMeter(home, ["cloud", "status"])).stdout, /^NOT-CONFIGURED/);
  });
});
