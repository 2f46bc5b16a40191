import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { callAtOnce } from "./call-storm.rig.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

const CALLS = 60;

describe("many connections at once", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly || (process.platform === "linux" ? false : "looks processes up in Linux's /proc"),
}, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let meter: MeterProcess;
  let folder: string;

  before(async () => {
    simulation = await createProviderSimulation({ seed: "storm" });
    parent = await createParentProxy(simulation);
    meter = await startMeter(createHome(simulationConfig(parent, simulation)));
    folder = mkdtempSync(join(tmpdir(), "storm-"));
  });
  after(async () => {
    await meter?.stop();
    await parent?.close();
    await simulation?.close();
    if (meter !== undefined) removeHome(meter.home);
    rmSync(folder, { recursive: true, force: true });
  });

  it("are each recorded with their caller, and none is tunnelled unread", async () => {
    const { answered, failed } = await callAtOnce(meter, CALLS, folder);
    assert.deepEqual([answered, failed], [CALLS, 0]);
    await meter.waitForRows(CALLS);
    const rows = await waitFor("all callers", async () => {
      const all = await meter.rows();
      return all.every(({ attributionDueAt }) => attributionDueAt === undefined) && all;
    });
    assert.equal(rows.length, CALLS);
    const callers = new Set(
      rows.map(({ client, project, sourceWorkdir }) => `${client} ${project} ${sourceWorkdir}`),
    );
    assert.deepEqual([...callers], [`node ${basename(folder).toLowerCase()} ${folder}`]);
    assert.deepEqual(
      (await meter.coverage()).map(({ kind }) => kind).filter((kind) => kind.startsWith("tunnelled_")),
      [],
    );
  });
});
