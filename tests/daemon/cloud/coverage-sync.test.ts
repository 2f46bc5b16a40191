import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import { HOUR_MS, MINUTE_MS } from "../../../core/values/time.ts";
import { type CoverageAnswer, type CoverageUpload, MAX_COVERAGE_ITEMS } from "../../../core/wire/coverage.ts";
import { COVERAGE_SYNC_MS, createCoverageSync, sendCoverage } from "../../../daemon/cloud/coverage-sync.ts";
import { type CloudRig, createRig, json, START } from "../../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../cloud/kit/engines.ts";
import {
  createMachine,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
  TOKEN,
  until,
} from "./cloud.rig.ts";

const PATH = "/v1/daemon/coverage";
const TAKEN = { status: 200, body: { stored: 1 } };
const HOUR = Math.floor(START / HOUR_MS) * HOUR_MS;
const at = (hours: number) => new Date(HOUR + hours * HOUR_MS).toISOString();

const count = (hours: number, kind: "metered" | "unknown_path" | "closed_unused" | "unfinished", n: number) =>
  ({ at: HOUR + hours * HOUR_MS, host: "secret.example", kind, count: n }) as const;

describe("the sync of coverage", () => {
  let cloud: ScriptedCloud;
  let machine: Machine;
  const clock = createManualClock(START);
  const open = async (upload: Record<string, unknown> = {}) => {
    machine = await createMachine(cloud.url, { clock, config: { cloud: { upload } } });
    machine.store.coverage.add([count(-3, "metered", 2), count(-3, "unknown_path", 1)]);
    machine.store.coverage.saveRun({ from: HOUR - 4 * HOUR_MS, to: HOUR - 2 * HOUR_MS });
  };
  const uploads = () => cloud.to(PATH).map(({ body }) => body as CoverageUpload);

  before(async () => {
    cloud = await startScriptedCloud();
  });
  after(() => cloud.close());
  beforeEach(() => {
    cloud.seen.length = 0;
    cloud.otherwise(PATH, TAKEN);
  });
  afterEach(() => machine.close());

  it("sends counts and times, and no host, after they are in the outbox", async () => {
    await open();
    assert.equal(await sendCoverage(machine.ports, new Map()), "sent");
    assert.deepEqual(uploads(), [
      {
        ...{ daemon_version: "0.4.0", as_of: new Date(START).toISOString(), queued: 0 },
        hours: [
          {
            ...{ hour: at(-3), metered: 2, seen: 3 },
            counts: [{ kind: "unknown_path", count: 1 }],
          },
        ],
        runs: [{ from: at(-4), to: at(-2) }],
      },
    ]);
    const outbox = [];
    for await (const { fields, projects } of machine.ports.outbox.read()) outbox.push({ fields, projects });
    assert.deepEqual(outbox, [{ fields: ["coverage"], projects: [] }]);
  });

  it("sends nothing if the preset, the field or a local-only project holds it back, or the sync is paused", async () => {
    for (const [upload, result] of [
      [{ preset: "minimal" }, "held_back"],
      [{ coverage: false }, "held_back"],
      [{ per_project: { secret: { upload: false } } }, "held_back"],
      [{ coverage: true, per_project: { secret: { upload: false } } }, "sent"],
      [{ preset: "minimal", coverage: true }, "sent"],
    ] as const) {
      await open(upload);
      assert.equal(await sendCoverage(machine.ports, new Map()), result, JSON.stringify(upload));
      await machine.close();
    }
    assert.equal(uploads().length, 2);
    await open();
    await machine.service.pause();
    assert.equal(await sendCoverage(machine.ports, new Map()), "held_back");
  });

  it("sends the present after the clock was ahead, and nothing of the future", async () => {
    await open();
    const sentHours = new Map<number, string>();
    const { coverage } = machine.store;
    const ahead = createManualClock(START + 240 * HOUR_MS);
    coverage.add([count(240, "metered", 1)]);
    coverage.saveRun({ from: HOUR + 239 * HOUR_MS, to: HOUR + 240 * HOUR_MS });
    assert.equal(await sendCoverage({ ...machine.ports, clock: ahead }, sentHours), "sent");
    coverage.add([count(-1, "metered", 5)]);
    coverage.saveRun({ from: HOUR - HOUR_MS, to: HOUR });
    assert.equal(await sendCoverage(machine.ports, sentHours), "sent");
    assert.deepEqual(
      uploads().map(({ hours, runs }) => [hours.map(({ hour }) => hour), runs.map(({ from }) => from)]),
      [
        [
          [at(-3), at(240)],
          [at(-4), at(239)],
        ],
        [
          [at(-3), at(-1)],
          [at(-4), at(-1)],
        ],
      ],
    );
    assert.equal(await sendCoverage(machine.ports, sentHours), "nothing");
  });

  it("sends whole hours after the clock was ahead", async () => {
    const now = HOUR + HOUR_MS / 2;
    const sentHours = new Map<number, string>();
    await open();
    const { coverage } = machine.store;
    coverage.add([count(-24, "metered", 2), count(-23.25, "metered", 3), count(240, "metered", 1)]);
    for (const clock of [createManualClock(HOUR + 241 * HOUR_MS), createManualClock(now)]) {
      assert.equal(await sendCoverage({ ...machine.ports, clock }, sentHours), "sent");
      coverage.add([count(-1, "metered", 1)]);
    }
    const sent = uploads().flatMap(({ hours }) => hours.filter(({ hour }) => hour === at(-24)));
    assert.deepEqual(
      sent.map(({ metered }) => metered),
      [5, 5],
    );
  });

  it("sends an hour again only if it changed, and a run that continues only each half hour", async () => {
    await open();
    const sentHours = new Map<number, string>();
    const send = () => sendCoverage(machine.ports, sentHours);
    const { coverage } = machine.store;
    assert.equal(await send(), "sent");
    assert.equal(await send(), "nothing");
    coverage.add([count(-1, "metered", 1), count(-3, "unfinished", 1)]);
    assert.equal(await send(), "sent");
    coverage.add([count(-3, "unfinished", -1), count(-3, "metered", 1)]);
    assert.equal(await send(), "sent");
    assert.deepEqual(
      uploads()
        .slice(1)
        .map(({ hours }) => hours.map(({ hour, metered, seen }) => [hour, metered, seen])),
      [
        [
          [at(-3), 2, 4],
          [at(-1), 1, 1],
        ],
        [[at(-3), 3, 4]],
      ],
    );
    coverage.saveRun({ from: HOUR - 4 * HOUR_MS, to: HOUR - 2 * HOUR_MS + 29 * MINUTE_MS });
    assert.equal(await send(), "nothing");
    coverage.saveRun({ from: HOUR - 4 * HOUR_MS, to: HOUR - 1.5 * HOUR_MS });
    assert.equal(await send(), "sent");
    coverage.saveRun({ from: HOUR, to: HOUR });
    assert.equal(await send(), "sent");
    assert.deepEqual(
      uploads()
        .slice(3)
        .map(({ hours, runs }) => [hours.length, runs]),
      [
        [0, [{ from: at(-4), to: at(-1.5) }]],
        [0, [{ from: at(0), to: at(0) }]],
      ],
    );
    // After a restart, the hours that can still change are sent once more.
    assert.equal(await sendCoverage(machine.ports, new Map()), "sent");
    assert.deepEqual(
      uploads()
        .at(-1)
        ?.hours.map(({ hour }) => hour),
      [at(-3), at(-1)],
    );
  });

  it("sends everything again after a failure, and a long past in parts", async () => {
    await open();
    const hours = Array.from({ length: MAX_COVERAGE_ITEMS + 40 }, (_, n) => count(-600 + n, "metered", 1));
    machine.store.coverage.add(hours);
    cloud.script(PATH, { status: 503 });
    const sentHours = new Map<number, string>();
    const results = [];
    for (let round = 0; round < 4; round += 1) results.push(await sendCoverage(machine.ports, sentHours));
    assert.deepEqual(results, ["failed", "rest", "sent", "nothing"]);
    const [failed, first, second] = uploads();
    assert.deepEqual(failed, first);
    const sent = [...(first?.hours ?? []), ...(second?.hours ?? [])].map(({ hour }) => hour);
    assert.equal(new Set(sent).size, hours.length + 1);
    assert.equal(sent.length, hours.length + 1);
  });

  it("sends nothing for a day to a cloud that does not support it, and stops", async () => {
    await open();
    cloud.otherwise(PATH, { status: 404 });
    const results: string[] = [];
    const ports = { ...machine.ports, random: () => 0.5 };
    const sync = createCoverageSync(ports);
    assert.equal(await sync.send(), "unsupported");
    cloud.otherwise(PATH, { status: 422 });
    assert.equal(await sync.send(), "unsupported");
    const timers: number[] = [];
    let run: (() => Promise<void>) | null = null;
    const timed = createCoverageSync({
      ...ports,
      clock: {
        now: clock.now,
        setTimer(delayMs, due) {
          timers.push(delayMs);
          run = due as () => Promise<void>;
          return () => void results.push("cancelled");
        },
      },
    });
    timed.enable(true);
    timed.enable(true);
    await (run as (() => Promise<void>) | null)?.();
    timed.stop();
    assert.deepEqual(timers, [COVERAGE_SYNC_MS / 2, 24 * HOUR_MS]);
    assert.ok(results.length > 0);
  });
});

describe("the sync of coverage after a pairing", () => {
  it("tries a cloud again that did not support it", async () => {
    const cloud = await startScriptedCloud();
    const clock = createManualClock(START);
    const machine = await createMachine(cloud.url, { clock });
    try {
      machine.store.coverage.saveRun({ from: START - HOUR_MS, to: START });
      cloud.otherwise("/v1/pairing/start", {
        status: 201,
        body: {
          ...{ code: "ABCD-1234", poll_token: "p".repeat(43), expires_in: 600, interval: 0 },
          verification_url: `${cloud.url}/connect`,
        },
      });
      cloud.otherwise("/v1/pairing/poll", {
        status: 200,
        body: { status: "approved", sync_token: TOKEN, workspace: { id: "w1", name: "Work" } },
      });
      await machine.service.start();
      const asked = (times: number) =>
        until(`upload ${times}`, () => {
          clock.advance(COVERAGE_SYNC_MS / 10);
          return cloud.to(PATH).length === times;
        });
      await asked(1);
      clock.advance(10 * COVERAGE_SYNC_MS);
      assert.equal(cloud.to(PATH).length, 1);
      await machine.service.connect({ force: true });
      assert.equal((await machine.service.connectSettled()).status, "approved");
      await asked(2);
      // Without the pairing, it would ask after a day.
      assert.ok(clock.now() - START < 12 * HOUR_MS);
    } finally {
      await machine.close();
      await cloud.close();
    }
  });
});

describeOnOneEngine("coverage in the real cloud", (engine) => {
  let rig: CloudRig;
  let served: Served;
  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e9, perUser: 1e9 } } });
    const app = rig.app({ rateLimits: { perKey: 1e9 } });
    served = await serve((request) => app.fetch(request), { host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await served.close(0);
    await rig.close();
  });

  const read = async (workspaceId: string, key: string, query = ""): Promise<CoverageAnswer> =>
    await json(rig.call("GET", `/v1/workspaces/${workspaceId}/coverage${query}`, key));

  it("is that of the machine, with its gaps, of this workspace only", async () => {
    const workspace = await rig.addWorkspace();
    const other = await rig.addWorkspace();
    const machine = await createMachine(`http://127.0.0.1:${served.port}`, { token: workspace.token });
    try {
      const { coverage } = machine.store;
      coverage.add([count(-3, "metered", 9), count(-2, "unknown_path", 1), count(-30, "metered", 5)]);
      coverage.add([count(-2, "closed_unused", 4)]);
      coverage.saveRun({ from: HOUR - 40 * HOUR_MS, to: HOUR - 3 * HOUR_MS });
      coverage.saveRun({ from: HOUR - 2 * HOUR_MS, to: HOUR });
      const sentHours = new Map<number, string>();
      const ports = { ...machine.ports, clock: createManualClock(START) };
      assert.equal(await sendCoverage(ports, sentHours), "sent");
      const key = await rig.addKey(workspace, { scope: "admin" });
      const period = `?from=${at(-10)}&to=${at(1)}`;
      const answer = await read(workspace.id, key, period);
      const sums = { metered: 9, seen: 10, permille: 900 };
      const [first, ...others] = answer.machines.filter(({ state }) => state === "current");
      assert.deepEqual(others, []);
      assert.partialDeepStrictEqual(answer, { ...sums, unknown_machines: 0 });
      assert.deepEqual(first, {
        ...{ machine_id: workspace.machineId, machine_name: first?.machine_name },
        ...{
          state: "current",
          has_unknown_requests: false,
          reported_at: new Date(START).toISOString(),
          queued: 0,
          ...sums,
        },
        counts: [{ kind: "unknown_path", count: 1, last_seen_at: at(-2) }],
        gaps: [{ from: at(-3), to: at(-2) }],
      });
      // The gap is cut at the period, and the runs beside the period are known.
      const cut = await read(workspace.id, key, `?from=${at(-2.5)}&to=${at(-2.25)}`);
      assert.deepEqual(cut.machines[0]?.gaps, [{ from: at(-2.5), to: at(-2.25) }]);
      assert.equal(cut.permille, null);

      coverage.add([count(-3, "metered", 1)]);
      assert.equal(await sendCoverage(ports, sentHours), "sent");
      assert.equal((await read(workspace.id, key, period)).metered, 10);
      const strange = await rig.addKey(other, { scope: "admin" });
      assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/coverage`, strange)).status, 404);
      assert.partialDeepStrictEqual(await read(other.id, strange, period), { seen: 0, permille: null });
    } finally {
      await machine.close();
    }
  });

  it("keeps the latest count of an hour and the latest end of a run, whatever arrives first", async () => {
    const workspace = await rig.addWorkspace();
    const key = await rig.addKey(workspace, { scope: "admin" });
    const upload = async (asOf: number, metered: number, end: number, queued: number | null) => {
      const hour = {
        hour: at(-1),
        metered,
        seen: metered + 1,
        counts: [{ kind: "metered", count: metered }],
      };
      const body = {
        ...{ daemon_version: "1", as_of: at(asOf), queued, hours: [hour, hour] },
        runs: [
          { from: at(-5), to: at(end) },
          { from: at(3), to: at(4) },
          { from: at(-1), to: at(-2) },
        ],
      };
      const { stored } = await json(rig.call("POST", PATH, workspace.token, body));
      return stored;
    };
    assert.equal(await upload(-0.25, 7, -1, 3), 2);
    assert.equal(await upload(-0.5, 5, -2, 9), 2);
    const [machine] = (await read(workspace.id, key)).machines;
    assert.partialDeepStrictEqual(machine, {
      metered: 7,
      seen: 8,
      queued: 3,
      reported_at: at(-0.25),
      gaps: [],
    });
    assert.equal(await upload(9, 8, -1, null), 2);
    const [later] = (await read(workspace.id, key)).machines;
    // A clock that is ahead counts as now.
    assert.partialDeepStrictEqual(later, {
      metered: 8,
      queued: null,
      reported_at: new Date(START).toISOString(),
    });
    const future = { daemon_version: "1", as_of: at(0), hours: [], runs: [] };
    const hours = [{ hour: at(9), metered: 1, seen: 1, counts: [] }];
    assert.deepEqual(await json(rig.call("POST", PATH, workspace.token, { ...future, hours })), {
      stored: 0,
    });
    const hostile = { ...future, hours: [{ ...hours[0], metered: -1 }] };
    assert.equal((await rig.call("POST", PATH, workspace.token, hostile)).status, 422);
  });

  it("is unknown, not whole, for a machine with requests that never reported it or no longer does", async () => {
    const workspace = await rig.addWorkspace();
    const key = await rig.addKey(workspace, { scope: "admin" });
    const send = () =>
      rig.call("POST", "/v1/requests/batch", workspace.token, {
        ...{ batch_id: crypto.randomUUID(), daemon_version: "0.3.9" },
        records: [
          {
            ...{
              request_id: crypto.randomUUID(),
              requested_at: at(-0.1),
              provider: "openai",
              model: "gpt-5",
            },
            project: "apollo",
          },
        ],
      });
    assert.equal((await send()).status, 200);
    const query = `?from=${at(-24)}&to=${new Date(START + 1).toISOString()}`;
    const silent = await read(workspace.id, key, query);
    assert.partialDeepStrictEqual(silent, { seen: 0, permille: null, unknown_machines: 1 });
    assert.partialDeepStrictEqual(silent.machines[0], {
      state: "unknown",
      permille: null,
      reported_at: null,
    });
    // A period without its requests lacks nothing.
    assert.equal((await read(workspace.id, key, `?from=${at(-72)}&to=${at(-48)}`)).unknown_machines, 0);

    const hour = { hour: at(-3), metered: 4, seen: 4, counts: [] };
    const upload = { daemon_version: "1", as_of: at(-2.9), queued: 0, hours: [hour], runs: [] };
    assert.equal((await rig.call("POST", PATH, workspace.token, upload)).status, 200);
    const stale = await read(workspace.id, key, query);
    assert.partialDeepStrictEqual(stale, { seen: 4, permille: 1000, unknown_machines: 1 });
    assert.equal(stale.machines[0]?.state, "stale");
  });
});
