import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createCredentialStore } from "../../../../../adapters/cloud-credentials/credential-store.ts";
import { createSqliteOpener } from "../../../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../../../cli/home/database-file.ts";
import { openStore } from "../../../../../daemon/store/open-store.ts";
import {
  createMachine,
  credentialsFor,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
} from "../../../../daemon/cloud/cloud.rig.ts";
import { createSampleHome, runWords } from "../../../run-command.rig.ts";

/** From when bodies are uploaded: the time of the switch, all of them, or a given time. */
type Expected = "switch" | "all" | string;

const DATE = "2026-10-01";
const ZONED = "2026-10-01T02:00:00+02:00";
const INSTANT = "2026-10-01T00:00:00.000Z";

/** Each value, and what it means if it is written together with `enabled = true`, before it, or after it. */
const values: readonly [value: string | null, together: Expected, before: Expected, later: Expected][] = [
  [null, "switch", "switch", "switch"],
  ["now", "switch", "switch", "later"],
  ["none", "all", "switch", "all"],
  [DATE, INSTANT, "switch", INSTANT],
  [ZONED, INSTANT, "switch", INSTANT],
  ["01.10.2026", "all", "all", "all"],
];

describe("upload_from when body sync is switched on", () => {
  let cloud: ScriptedCloud;
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    cloud = await startScriptedCloud();
  });
  after(() => cloud.close());
  beforeEach(async () => {
    sample = await createSampleHome();
    await createCredentialStore(sample.home).write(credentialsFor(cloud.url));
  });
  afterEach(() => sample.remove());

  const meter = (...words: string[]) => runWords(sample.home, words);
  function write(enabled: boolean, value: string | null): void {
    const uploadFrom = value === null ? "" : `upload_from = "${value}"\n`;
    const config = `[cloud]\nenabled = true\nbase_url = "${cloud.url}"\n[cloud.bodies]\nenabled = ${enabled}\n`;
    writeFileSync(join(sample.home, "config.toml"), config + uploadFrom);
  }
  const shown = async (): Promise<string> =>
    JSON.parse((await meter("cloud", "privacy", "show", "--json")).stdout).bodies.upload_from;
  async function kept(): Promise<number | null> {
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home), { readOnly: true });
    const { upload_from } = store.delivery.readState("cloud_body_sync_state");
    store.close();
    return upload_from;
  }
  /** Lets the uploader find the switch, and checks the time in the notice, in `privacy show`, and after a restart. */
  async function check(expected: Expected): Promise<void> {
    const from = Date.now();
    const { stderr, code } = await meter("sync");
    assert.equal(code, 0, stderr);
    const at = await shown();
    if (expected === "switch" || expected === "later") {
      assert.ok(Date.parse(at) >= from && Date.parse(at) <= Date.now(), at);
      assert.equal(await kept(), Date.parse(at));
    } else assert.equal(at, expected);
    if (expected !== "later") {
      const said = at === "all" ? "Bodies of all dates are uploaded" : `captured from ${at} on`;
      assert.ok(stderr.includes(said), stderr);
    }
    assert.equal((await meter("sync")).stderr, "");
    assert.equal(await shown(), at);
  }

  for (const [value, together, standing, later] of values) {
    it(`${value} written together with enabled = true: ${together}`, async () => {
      write(false, null);
      await meter("sync");
      write(true, value);
      if (together !== "switch") assert.equal(await shown(), together);
      await check(together);
    });

    it(`${value} there from the first start on: ${together}`, async () => {
      write(true, value);
      await check(together);
    });

    it(`${value} there while body sync was off: ${standing}`, async () => {
      write(false, value);
      await meter("sync");
      write(true, value);
      await check(standing);
    });

    it(`${value} written while body sync is on: ${later}`, async () => {
      write(true, null);
      await meter("sync");
      const first = await shown();
      write(true, value);
      if (value === null) assert.equal(await shown(), first);
      else if (later === "later") await check(later);
      else assert.equal(await shown(), later);
    });

    it(`${value} there before privacy set bodies.enabled true: the moment of the command`, async () => {
      write(false, value);
      await meter("sync");
      const from = Date.now();
      await meter("cloud", "privacy", "set", "bodies.enabled", "true");
      const at = await shown();
      assert.ok(Date.parse(at) >= from && Date.parse(at) <= Date.now(), at);
      assert.equal((await meter("sync")).stderr, "");
      assert.deepEqual([await shown(), await kept()], [at, Date.parse(at)]);
    });

    it(`${value} there before it is switched off and on again: the second switch`, async () => {
      write(true, value);
      await meter("sync");
      write(false, value);
      await meter("sync");
      write(true, value);
      await check(standing);
    });
  }

  it("invalid: the status warns, and the warning is correct", async () => {
    write(false, null);
    await meter("sync");
    write(true, "01.10.2026");
    await meter("sync");
    const { stdout } = await meter("cloud", "status");
    assert.match(
      stdout.replace(/\s+/g, " "),
      /must be now, none, a date or a datetime; bodies of all dates are uploaded: "01\.10\.2026"/,
    );
    assert.deepEqual([await shown(), await kept()], ["all", null]);
  });
});

describe("upload_from in the file of a running daemon", () => {
  let cloud: ScriptedCloud;
  let machine: Machine;
  beforeEach(async () => {
    cloud = await startScriptedCloud();
    machine = await createMachine(cloud.url);
  });
  afterEach(async () => {
    await machine.close();
    await cloud.close();
  });
  const edit = async (enabled: boolean, value: string | null) => {
    const bodies = { enabled, ...(value !== null && { upload_from: value }) };
    machine.config.cloud = { ...(machine.config.cloud as object), bodies };
    await machine.service.reload();
  };

  for (const [value, together, standing] of values) {
    it(`${value}: ${together} in the same edit, ${standing} in an earlier one`, async () => {
      await machine.service.start();
      for (const [expected, earlier] of [
        [together, null],
        [standing, value],
      ] as const) {
        await edit(false, "2020-01-01");
        await edit(false, earlier);
        const from = Date.now();
        await edit(true, value);
        const { uploadFrom } = (await machine.service.state()).bodies;
        if (expected === "switch") assert.ok((uploadFrom ?? 0) >= from, `${uploadFrom}`);
        else assert.equal(uploadFrom, expected === "all" ? null : Date.parse(expected));
      }
    });
  }
});
