import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createLog } from "../../../adapters/log/create-log.ts";
import type { ProcessFacts, ProcessTable } from "../../../core/ports/process-table.ts";
import type { Checkout, ProjectFacts, ProjectFiles } from "../../../core/ports/project-files.ts";
import {
  ATTRIBUTION_TIMEOUT_MS,
  type AttributorPorts,
  CHECKOUT_MAX_AGE_MS,
  CHECKOUT_REFRESH_AGE_MS,
  CHECKOUT_TIMEOUT_MS,
  createAttributor,
  FOLDERS_MAX_AGE_MS,
} from "../../../daemon/capture/create-attributor.ts";

const claude: ProcessFacts = {
  pid: 40,
  processName: "claude",
  commandLines: [["claude"]],
  environmentProject: null,
  cwd: "/w/shop/api",
};
const shop: ProjectFacts = {
  projectFile: null,
  bodyCaptureRefused: false,
  gitRoot: "/w/shop",
  gitFolder: "/w/shop",
  gitRemote: null,
};

function setUp(
  lookup: ProcessTable["lookup"] = async () => claude,
  find: ProjectFiles["find"] = async () => shop,
  origins?: AttributorPorts["origins"],
  checkoutOf = async (reading: number): Promise<Checkout | null> => ({
    branch: `branch-${reading}`,
    commit: null,
    pullRequest: null,
  }),
) {
  const clock = createManualClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ write: (line) => lines.push(JSON.parse(line)) }, "debug");
  let lookups = 0;
  let finds = 0;
  const checkouts: string[] = [];
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
        checkout(gitFolder) {
          checkouts.push(gitFolder);
          return checkoutOf(checkouts.length);
        },
      },
      ...(origins !== undefined && { origins }),
    },
    { defaultProject: "house", autoClassifyUnknownProcesses: true, proxyPort: () => 8081 },
  );
  return { clock, lines, attributor, checkouts, counts: () => [lookups, finds] };
}

const opened = { clientPort: 52_514, proxyUser: null };

describe("createAttributor()", () => {
  it("looks up the caller once per connection, with both ports, and attributes each call", async () => {
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
      processId: 40,
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

  it("looks up no caller that is known already", async () => {
    const { attributor, counts } = setUp(async () => null);
    const connection = attributor({ ...opened, caller: claude });
    const { project, client, workdir } = await connection.attribute(null);
    assert.deepEqual([project, client, workdir], ["shop", "claude", "/w/shop/api"]);
    assert.deepEqual(counts(), [0, 1]);
  });

  it("starts the lookup when the connection opens, not with the first call", () => {
    const { attributor, counts } = setUp();
    attributor(opened);
    assert.equal(counts()[0], 1);
  });

  it("caches the facts of folders until they expire or the clock steps back", async () => {
    const { attributor, clock, counts } = setUp();
    await attributor(opened).attribute(null);
    clock.advance(FOLDERS_MAX_AGE_MS - 1);
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [2, 1]);
    clock.advance(1);
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [3, 2]);
  });

  it("reads the state of the working tree for each call, at most once a second", async () => {
    const { attributor, checkouts, clock } = setUp();
    const connection = attributor(opened);
    const branch = async () => (await connection.git?.())?.branch;
    assert.equal(await branch(), "branch-1");
    clock.advance(CHECKOUT_REFRESH_AGE_MS - 1);
    const cached = connection.git?.();
    assert.ok(!(cached instanceof Promise));
    assert.equal(cached?.branch, "branch-1");
    clock.advance(CHECKOUT_MAX_AGE_MS - CHECKOUT_REFRESH_AGE_MS + 1);
    assert.equal(await branch(), "branch-2");
    assert.deepEqual(checkouts, ["/w/shop", "/w/shop"]);
  });

  it("reads the state of the working tree again before it expires, so that steady calls do not wait", async () => {
    const { attributor, checkouts, clock } = setUp();
    const connection = attributor(opened);
    const branches: (string | null | undefined)[] = [(await connection.git?.())?.branch];
    for (const ms of [CHECKOUT_REFRESH_AGE_MS, 1, CHECKOUT_REFRESH_AGE_MS - 1, 1]) {
      clock.advance(ms);
      const state = connection.git?.();
      assert.ok(!(state instanceof Promise));
      branches.push(state?.branch);
      await setImmediate();
    }
    // A reading counts from its start. While it runs, the one before is used.
    assert.deepEqual(branches, ["branch-1", "branch-1", "branch-2", "branch-2", "branch-3"]);
    assert.equal(checkouts.length, 3);
  });

  it("uses no state that is older than a second, however long reading it again takes", async () => {
    const { attributor, clock } = setUp(undefined, undefined, undefined, (reading) =>
      reading === 2
        ? new Promise(() => {})
        : Promise.resolve({ branch: `branch-${reading}`, commit: null, pullRequest: null }),
    );
    const connection = attributor(opened);
    const branch = async () => (await connection.git?.())?.branch;
    assert.equal(await branch(), "branch-1");
    clock.advance(CHECKOUT_MAX_AGE_MS - 1);
    assert.equal(await branch(), "branch-1");
    clock.advance(1);
    assert.equal(await branch(), "branch-3");
  });

  const ciRun = { branch: "feature/x", pullRequest: 12 };
  const detached: Checkout = { branch: null, commit: "c0ffee", pullRequest: null };
  const readGit = (
    checkoutOf: () => Promise<Checkout | null>,
    { process = claude, folders = shop }: { process?: ProcessFacts | null; folders?: ProjectFacts } = {},
  ) =>
    setUp(
      async () => process,
      async () => folders,
      undefined,
      checkoutOf,
    )
      .attributor(opened)
      .git?.();

  it("fills in what CI states, which checks out a commit without its branch", async () => {
    const process = { ...claude, ciRun };
    assert.deepEqual(await readGit(async () => detached, { process }), {
      branch: "feature/x",
      commit: "c0ffee",
      pullRequest: 12,
      remote: null,
    });
    const own = { branch: "topic", commit: "c0ffee", pullRequest: 3 };
    assert.deepEqual(await readGit(async () => own, { process }), { ...own, remote: null });
  });

  it("names the remote, unless it is a folder of this machine", async () => {
    const remoteOf = async (gitRemote: string) =>
      (await readGit(async () => detached, { folders: { ...shop, gitRemote } }))?.remote;
    assert.equal(await remoteOf("github.com/acme/shop"), "github.com/acme/shop");
    assert.equal(await remoteOf("/srv/git/shop"), null);
    assert.equal(await remoteOf("C:\\git\\shop"), null);
  });

  it("returns no state outside a repository, for an unknown caller, or if reading fails", async () => {
    const never = async (): Promise<never> => assert.fail("read");
    assert.equal(await readGit(never, { folders: { ...shop, gitRoot: null, gitFolder: null } }), null);
    assert.equal(await readGit(never, { process: null }), null);
    assert.equal(await readGit(async () => null), null);
    assert.equal(await readGit(() => Promise.reject(new Error("EIO"))), null);
  });

  it("does not wait for a file system that does not answer", async () => {
    const { attributor, clock, checkouts } = setUp(
      undefined,
      undefined,
      undefined,
      () => new Promise(() => {}),
    );
    const state = attributor(opened).git?.();
    await setImmediate();
    assert.deepEqual(checkouts, ["/w/shop"]);
    clock.advance(CHECKOUT_TIMEOUT_MS);
    assert.equal(await state, null);
  });

  it("names the program that an interpreter runs", async () => {
    const words = ["node", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"];
    const { attributor } = setUp(async () => ({ ...claude, processName: "node", commandLines: [words] }));
    assert.equal((await attributor(opened).attribute(null)).client, "gemini-cli");
  });

  it("needs no lookup for the project of meter run, and logs the run", async () => {
    const { attributor, lines } = setUp(async () => null);
    const proxyUser = "billing.~p0123456789ab";
    const connection = attributor({ ...opened, proxyUser });
    assert.equal(connection.provisional?.(null)?.project, "billing");
    assert.partialDeepStrictEqual(await connection.attribute(null), {
      project: "billing",
      tier: "proxy_user",
      client: null,
    });
    assert.partialDeepStrictEqual(lines[0], { project: "billing", run: "0123456789ab" });
  });

  it("uses the proxy's user name, and the default if nothing is known", async () => {
    const { attributor } = setUp(async () => null);
    assert.equal((await attributor({ ...opened, proxyUser: "Team A" }).attribute(null)).project, "team-a");
    assert.deepEqual(await attributor(opened).attribute(null), {
      project: "house",
      tier: "default_project",
      client: null,
      workdir: null,
      isCallerMissing: true,
      bodyCaptureRefused: false,
    });
  });

  it("reports a refusal of body capture, and refuses if the folders can't be read", async () => {
    const refusing = setUp(undefined, async () => ({ ...shop, bodyCaptureRefused: true }));
    assert.equal((await refusing.attributor(opened).attribute(null)).bodyCaptureRefused, true);
    const failing = setUp(undefined, () => Promise.reject(new TypeError("no")));
    const call = await failing.attributor(opened).attribute(null);
    assert.deepEqual([call.bodyCaptureRefused, call.tier], [true, "working_directory"]);
    assert.deepEqual(failing.lines[0]?.error, "TypeError");
  });

  it("attributes without the process if the lookup rejects or throws", async () => {
    const rejecting = setUp(() => Promise.reject("text"));
    assert.equal((await rejecting.attributor(opened).attribute(null)).project, "house");
    assert.equal(rejecting.lines[0]?.error, "unknown");
    const throwing = setUp(() => {
      throw new RangeError("no");
    });
    assert.equal((await throwing.attributor(opened).attribute(null)).project, "house");
  });

  it("stops waiting at the timeout, and uses the facts known by then", async () => {
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

  it("returns a provisional attribution until the lookup has ended", async () => {
    const found = Promise.withResolvers<ProcessFacts>();
    const { attributor, lines } = setUp(() => found.promise);
    const connection = attributor({ ...opened, proxyUser: "Team A" });
    assert.partialDeepStrictEqual(connection.provisional?.("Other One"), {
      project: "other-one",
      tier: "header",
    });
    assert.deepEqual(connection.provisional?.(null), {
      project: "team-a",
      tier: "proxy_user",
      client: null,
      workdir: null,
      bodyCaptureRefused: true,
    });
    // Only the final attribution is logged.
    assert.deepEqual(lines, []);
    assert.equal(connection.provisional?.(null), connection.provisional?.(null));
    assert.equal(connection.known?.(null), null);
    found.resolve(claude);
    const attribution = await connection.attribute(null);
    assert.equal(attribution.client, "claude");
    assert.equal(connection.provisional?.(null), null);
    assert.equal(connection.known?.(null), attribution);
    assert.equal(connection.known?.("Other One"), null);
    assert.equal((await connection.attribute("Other One")).project, "other-one");
    assert.equal(connection.known?.("Other One")?.project, "other-one");
  });

  it("looks up the project of a folder, but not of a name that was given", async () => {
    const asked: unknown[] = [];
    const origins: AttributorPorts["origins"] = {
      async find(name, origin) {
        asked.push([name, origin]);
        return `${name}-acme`;
      },
    };
    const { attributor, lines } = setUp(undefined, undefined, origins);
    assert.equal((await attributor(opened).attribute(null)).project, "shop-acme");
    assert.deepEqual(asked, [["shop", { remote: null, folder: "/w/shop" }]]);
    assert.partialDeepStrictEqual(lines[0], { project: "shop-acme", runner_up: "api" });
    assert.ok(!JSON.stringify(lines).includes("/w/shop"));

    const given = setUp(
      async () => ({ ...claude, environmentProject: "shop" }),
      undefined,
      origins,
    ).attributor;
    assert.equal((await given(opened).attribute(null)).project, "shop");
    assert.equal((await given(opened).attribute("shop")).project, "shop");
    assert.equal((await given({ ...opened, proxyUser: "shop" }).attribute(null)).project, "shop");
    const file = { ...shop, projectFile: { path: "/w/shop/.meter.toml", project: "shop" } };
    const filed = setUp(undefined, async () => file, origins).attributor;
    assert.equal((await filed(opened).attribute(null)).project, "shop");
    const unknown = setUp(async () => null, undefined, origins).attributor;
    assert.equal((await unknown(opened).attribute(null)).project, "house");
    assert.equal(asked.length, 1);
    // The folder of `meter run` has its project, but may have been merged since.
    const run = await unknown({ ...opened, proxyUser: "shop.~f0123456789ab" }).attribute(null);
    assert.equal(run.project, "shop-acme");
    assert.deepEqual(asked[1], ["shop", null]);
  });

  it("limits the number of cached working directories", async () => {
    let pid = 0;
    const { attributor, counts } = setUp(async () => ({ ...claude, cwd: `/w/${(pid += 1)}` }));
    for (let round = 0; round < 300; round += 1) await attributor(opened).attribute(null);
    pid = 0;
    await attributor(opened).attribute(null);
    assert.deepEqual(counts(), [301, 301]);
  });
});
