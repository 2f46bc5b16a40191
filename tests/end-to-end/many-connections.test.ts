import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { callAtOnce } from "./call-storm.rig.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

const CALLS = 60;

describe("many connections at once", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly || (process.platform === "linux" ? false : "looks processes up in Linux's /proc"),
}, () => {
  const rig = useSimulatedMeter("storm");
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "storm-"));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
  });

  it("are each recorded with their caller, and none is tunnelled unread", async () => {
    const { answered, failed } = await callAtOnce(rig.meter, CALLS, folder);
    assert.deepEqual([answered, failed], [CALLS, 0]);
    await rig.meter.waitForRows(CALLS);
    const rows = await waitFor("all callers", async () => {
      const all = await rig.meter.rows();
      return all.every(({ attributionDueAt }) => attributionDueAt === undefined) && all;
    });
    assert.equal(rows.length, CALLS);
    const callers = new Set(
      rows.map(({ client, project, sourceWorkdir }) => `${client} ${project} ${sourceWorkdir}`),
    );
    assert.deepEqual([...callers], [`node ${basename(folder).toLowerCase()} ${folder}`]);
    assert.deepEqual(
      (await rig.meter.coverage()).map(({ kind }) => kind).filter((kind) => kind.startsWith("tunnelled_")),
      [],
    );
  });
});
