import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { reloadDaemon } from "../../../cli/cloud-control.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  startMeter,
} from "../../end-to-end/meter-process.ts";

const FREE_PORTS = ["[proxy]", "port = 0", "[api]", "port = 0"];

describe("config.toml, edited while a daemon runs", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let meter: MeterProcess;
  before(async () => {
    meter = await startMeter(createHome([...FREE_PORTS, 'colour = "red"']));
  });
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });
  const warningsOf = async (lines: readonly string[]) => {
    writeFileSync(join(meter.home, "config.toml"), `${[...FREE_PORTS, ...lines].join("\n")}\n`);
    await reloadDaemon(meter.home);
    return (await meter.run(["status"])).stdout.match(/^warning {3}\S+/gm) ?? [];
  };

  it("warns of a watermark that is none, in the status and once in the log, until it is mended", async () => {
    const malformed = ["[cloud.bodies]", 'upload_from = "yesterday"'];
    const bodies = "warning   cloud.bodies.upload_from";
    assert.deepEqual(await warningsOf(malformed), ["warning   api.colour:", bodies]);
    assert.deepEqual(await warningsOf([...malformed, "enabled = true"]), ["warning   api.colour:", bodies]);
    // What the daemon read at its start holds until its next one, and so does what was wrong with that.
    assert.deepEqual(await warningsOf([]), ["warning   api.colour:"]);
    const told = meter.log().filter(({ warning }) => String(warning).startsWith("cloud.bodies.upload_from"));
    assert.equal(told.length, 1);
    assert.match((await meter.stop()).stderr, /^meter: cloud\.bodies\.upload_from is neither/m);
  });
});
