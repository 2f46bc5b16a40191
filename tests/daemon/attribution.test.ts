import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../adapters/clock/mod.ts";
import { createLog } from "../../adapters/log/mod.ts";
import type { ProcessFacts, ProcessTable } from "../../core/ports/process-table.ts";
import type { ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { ATTRIBUTION_TIMEOUT_MS, createAttributor, FOLDERS_FRESH_MS } from "../../daemon/attribution.ts";

const claude: ProcessFacts = {
  pid: 40,
  processName: "claude",
  commandLines: [["claude"]],
  environmentProject: null,
  cwd: "/w/shop/api",
};
const shop: ProjectFacts = { projectFile: null, bodyCaptureRefused: false, gitRoot: "/w/shop" };

function setUp(
  lookup: ProcessTable["lookup"] = async () => claude,
  find: ProjectFiles["find"] = async () => shop,
) {
  const clock = createManualClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ write: (line) => lines.push(JSON.parse(line)) }, "debug");
  let lookups = 0;
  let finds = 0;
  const attributor = createAttributor(
    {
      clock,
      log,
      processTable: {
        lookup(connection) {
          lookups += 1;
          return lookup(connection);
        },
      },
      projectFiles: {
        find(cwd) {
          finds += 1;
          return find(cwd);
        },
      },
    },
    { defaultProject: "house", autoClassifyUnknownProcesses: true, proxyPort: () => 8081 },
  );
  return { clock, lines, attributor, counts: () => [lookups, finds] };
}

const opened = { clientPort: 52_514, proxyUser: null };

describe("createAttributor()", () => {
  it("looks the caller up once a connection, with both ports, and attributes each call", async () => {
    const asked: unknown[] = [];
    const { attributor, counts, lines } = setUp(async (connection) => {
      asked.push(connection);
      return claude;
    });
    const connection = attributor(opened);
    assert.deepEqual(await connection.attribute(null), {
      project: "shop",
      tier: "git_root",
      client: "claude",
      workdir: "/w/shop/api",
      bodyCaptureRefused: false,
    });
    await connection.attribute(null);
    assert.equal(lines.length, 1);
    assert.equal((await connection.attribute("Other One")).project, "other-one");
    assert.deepEqual(asked, [{ clientPort: 52_514, proxyPort: 8081 }]);
    assert.deepEqual(counts(), [1, 1]);
    const { time: _time, ...line } = lines[0] as Record<string, unknown>;
    assert.deepEqual(line, {
      level: "info",
      event: "attribution.tier_hit",
      tier: "git_root",
      project: "shop",
      runner_up: "api",
      client: "claude",
    });
  });

  it("starts when the connection opens, not when its first call is attributed", () => {
    const { attributor, counts } = setUp();
    attributor(opened);
    assert.equal(counts()[0], 1);
  });

  it("asks again for what the folders say only after a while, or after the clock went back", async () => {
    const { attributor, clock, counts } = setUp();
    await attributor(opened).attribute(null);
    clock.advance(FOLDERS_FRESH_MS - 1);
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [2, 1]);
    clock.advance(1);
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [3, 2]);
  });

  it("takes the proxy's user name, and the default when nothing is known", async () => {
    const { attributor } = setUp(async () => null);
    assert.equal((await attributor({ ...opened, proxyUser: "Team A" }).attribute(null)).project, "team-a");
    assert.deepEqual(await attributor(opened).attribute(null), {
      project: "house",
      tier: "default_project",
      client: null,
      workdir: null,
      bodyCaptureRefused: false,
    });
  });

  it("passes on a refusal of body capture, and refuses when the folders can't be asked", async () => {
    const refusing = setUp(undefined, async () => ({ ...shop, bodyCaptureRefused: true }));
    assert.equal((await refusing.attributor(opened).attribute(null)).bodyCaptureRefused, true);
    const failing = setUp(undefined, () => Promise.reject(new TypeError("no")));
    const call = await failing.attributor(opened).attribute(null);
    assert.deepEqual([call.bodyCaptureRefused, call.tier], [true, "working_directory"]);
    assert.deepEqual(failing.lines[0]?.error, "TypeError");
  });

  it("goes on without a process table that rejects or throws", async () => {
    const rejecting = setUp(() => Promise.reject("text"));
    assert.equal((await rejecting.attributor(opened).attribute(null)).project, "house");
    assert.equal(rejecting.lines[0]?.error, "unknown");
    const throwing = setUp(() => {
      throw new RangeError("no");
    });
    assert.equal((await throwing.attributor(opened).attribute(null)).project, "house");
  });

  it("waits no longer than the timeout, and keeps what it knows by then", async () => {
    const silent = setUp(() => new Promise(() => {}));
    const nobody = silent.attributor(opened).attribute(null);
    silent.clock.advance(ATTRIBUTION_TIMEOUT_MS);
    assert.equal((await nobody).project, "house");
    assert.deepEqual(silent.lines[0]?.error, "timeout");

    const hanging = setUp(undefined, () => new Promise(() => {}));
    const connection = hanging.attributor(opened);
    await Promise.resolve();
    await Promise.resolve();
    hanging.clock.advance(ATTRIBUTION_TIMEOUT_MS);
    const call = await connection.attribute(null);
    assert.deepEqual([call.project, call.tier, call.bodyCaptureRefused], ["api", "working_directory", true]);
  });

  it("keeps the folders of a bounded number of working directories", async () => {
    let pid = 0;
    const { attributor, counts } = setUp(async () => ({ ...claude, cwd: `/w/${(pid += 1)}` }));
    for (let round = 0; round < 300; round += 1) await attributor(opened).attribute(null);
    pid = 0;
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [301, 301]);
  });
});
