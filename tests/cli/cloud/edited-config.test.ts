import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { reloadDaemon } from "../../../cli/cloud/cloud-control.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  startMeter,
} from "../../end-to-end/meter-process.rig.ts";
import { runWords } from "../run-command.rig.ts";

const FREE_PORTS = ["[proxy]", "port = 0", "[api]", "port = 0"];

describe("config.toml, edited while a daemon runs", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let meter: MeterProcess;
  before(async () => {
    meter = await startMeter(
      createHome([...FREE_PORTS, 'colour = "red"', "[bodies]", 'retention_days = "x"']),
    );
  });
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });
  const warningsOf = async (lines: readonly string[]) => {
    writeFileSync(join(meter.home, "config.toml"), `${[...FREE_PORTS, ...lines].join("\n")}\n`);
    await reloadDaemon(meter.home);
    return (await runWords(meter.home, ["status"])).stdout.match(/^warning {3}\S+/gm) ?? [];
  };

  const retentionWarning = () =>
    `bodies.retention_days: must be a whole number; 90 is used. Fix line 7 of ${join(meter.home, "config.toml")}.`;
  /** The beginnings of the two warnings about what the daemon read at its start. */
  const standing = ["warning   bodies.retention_days:", "warning   api.colour:"];

  it("starts a daemon in spite of invalid settings; a value of the wrong type is named with file, line and fix in status, doctor, log and API", async () => {
    const warning = retentionWarning();
    const inOneLine = (text: string) => text.replaceAll(/\s+/g, " ");
    const status = await runWords(meter.home, ["status"]);
    assert.equal(status.code, 0);
    assert.match(status.stdout, /\nwarning {3}.*colour/);
    assert.ok(inOneLine(status.stdout).includes(`warning ${warning}`));
    assert.ok(inOneLine((await runWords(meter.home, ["doctor"])).stdout).includes(`check config ${warning}`));
    assert.equal(meter.log().filter((line) => line.warning === warning).length, 1);
    const [first, second = "", ...others] = (await meter.status()).warnings;
    assert.deepEqual([first, others], [warning, []]);
    assert.match(second, /^api\.colour:/);
  });

  it("warns about an invalid upload_from in the status, and once in the log, until it is fixed", async () => {
    const malformed = ["[cloud.bodies]", 'upload_from = "yesterday"'];
    const bodies = "warning   cloud.bodies.upload_from";
    assert.deepEqual(await warningsOf(malformed), [...standing, bodies]);
    assert.deepEqual(await warningsOf([...malformed, "enabled = true"]), [...standing, bodies]);
    // The settings that the daemon read at its start apply until it restarts, and so do their warnings.
    assert.deepEqual(await warningsOf([]), standing);
    const told = meter.log().filter(({ warning }) => String(warning).startsWith("cloud.bodies.upload_from"));
    assert.equal(told.length, 1);
    const { stderr } = await meter.stop();
    assert.match(stderr, /^meter: cloud\.bodies\.upload_from must be now, none/m);
    assert.ok(stderr.includes(`meter: ${retentionWarning()}\n`));
    assert.match(stderr, /^meter: .*colour/m);
  });

  it("keeps the settings in force while the file can't be read, and names the place in status, log and page", async () => {
    const again = await startMeter(createHome([...FREE_PORTS]));
    try {
      const config = join(again.home, "config.toml");
      writeFileSync(config, `${FREE_PORTS.join("\n")}\n[cloud]\nenabled = = true\n`);
      await reloadDaemon(again.home);
      const place = `${config} is not valid TOML. Fix line 6, column 11.`;
      const status = await runWords(again.home, ["status"]);
      assert.deepEqual([status.code, status.stderr], [0, ""]);
      const text = status.stdout.replaceAll(/\s+/g, " ");
      assert.ok(text.includes(place), status.stdout);
      assert.ok(text.includes("The previous settings stay in force"), status.stdout);
      const logged = again.log().filter(({ warning }) => String(warning).includes("line 6, column 11"));
      assert.equal(logged.length, 1);
      assert.ok((await again.status()).warnings.some((warning) => warning.includes(place)));
      const cloud = await runWords(again.home, ["cloud", "status"]);
      assert.equal(cloud.code, 1);
      assert.ok(cloud.stdout.replaceAll(/\s+/g, " ").includes(place), cloud.stdout + cloud.stderr);
      writeFileSync(config, `${FREE_PORTS.join("\n")}\n`);
      await reloadDaemon(again.home);
      assert.doesNotMatch((await runWords(again.home, ["status"])).stdout, /^warning/m);
    } finally {
      await again.stop();
      removeHome(again.home);
    }
  });
});
