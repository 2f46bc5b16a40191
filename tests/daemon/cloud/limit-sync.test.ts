import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import type { LimitReading } from "../../../core/metering/limits/stated-limit.ts";
import { limitsUploadSchema, MAX_LIMIT_READINGS } from "../../../core/wire/limit-readings.ts";
import { parseWire } from "../../../core/wire/parse.ts";
import { sendLimitReadings, toWireReading } from "../../../daemon/cloud/limit-sync.ts";
import { type CloudRig, createRig, json, START } from "../../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../cloud/kit/engines.ts";
import { createMachine, type Machine, type ScriptedCloud, startScriptedCloud } from "./cloud.rig.ts";

const PATH = "/v1/daemon/limits";
const TAKEN = { status: 200, body: { stored: 1 } };

const reading = (given: Partial<LimitReading> = {}) => ({
  isPoint: false,
  reading: {
    ...{ provider: "anthropic", account: "a1", window: "5h", scope: null, unit: "share" as const },
    ...{ windowMs: 18_000_000, usedPpm: 620_000, limit: null, remaining: null, resetAt: START + 1_000 },
    ...{ status: "allowed" as const, seenAt: START - 1_000 },
    ...given,
  },
});

describe("the sync of limit readings", () => {
  let cloud: ScriptedCloud;
  let machine: Machine;
  const open = async (upload: Record<string, unknown>) => {
    machine = await createMachine(cloud.url, { config: { cloud: { upload } } });
    machine.store.limits.save([reading()]);
  };

  before(async () => {
    cloud = await startScriptedCloud();
  });
  after(() => cloud.close());
  beforeEach(() => {
    cloud.seen.length = 0;
  });
  afterEach(() => machine.close());

  it("sends nothing in the presets below full, unless it is named", async () => {
    for (const [upload, result] of [
      [{ preset: "minimal" }, "held_back"],
      [{ preset: "standard" }, "held_back"],
      [{ preset: "full", limit_readings: false }, "held_back"],
      [{ preset: "minimal", limit_readings: true }, "sent"],
    ] as const) {
      if (result === "sent") cloud.script(PATH, { status: 200, body: { stored: 1 } });
      await open(upload);
      assert.equal(await sendLimitReadings(machine.ports), result, JSON.stringify(upload));
      if (result !== "sent") await machine.close();
    }
    assert.equal(cloud.to(PATH).length, 1);
  });

  it("sends what was seen since, after it is in the outbox, and again after a failure", async () => {
    await open({ preset: "full" });
    cloud.script(
      PATH,
      { status: 503 },
      { status: 200, body: { stored: 1 } },
      { status: 200, body: { stored: 1 } },
    );
    assert.equal(await sendLimitReadings(machine.ports), "failed");
    assert.equal(await sendLimitReadings(machine.ports), "sent");
    assert.equal(await sendLimitReadings(machine.ports), "nothing");
    machine.store.limits.save([reading({ window: "7d", seenAt: START })]);
    assert.equal(await sendLimitReadings(machine.ports), "sent");
    const bodies = cloud.to(PATH).map(({ body }) => body as { readings: { window: string }[] });
    assert.deepEqual(
      bodies.map(({ readings }) => readings.map((each) => each.window)),
      [["5h"], ["5h"], ["7d"]],
    );
    const outbox = [];
    for await (const { fields } of machine.ports.outbox.read()) outbox.push(fields);
    assert.deepEqual(outbox, [["limit_readings"], ["limit_readings"], ["limit_readings"]]);
  });

  it("leaves an older cloud alone, and one that refuses the readings", async () => {
    await open({ preset: "full" });
    for (const status of [404, 413, 422]) {
      cloud.script(PATH, { status });
      assert.equal(await sendLimitReadings(machine.ports), "unsupported", String(status));
    }
  });

  it("sends only texts that the cloud accepts, whatever a provider states", async () => {
    await open({ preset: "full" });
    const unit = fc.constantFrom("a", "\0", "\ud83d", "\ude00", "\u{1f600}");
    const text = fc.string({ unit, minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(text, text, text, (provider, window, scope) => {
        const readings = [toWireReading(reading({ provider, window, scope }).reading)];
        const parsed = parseWire(limitsUploadSchema, { daemon_version: "1", readings });
        assert.deepEqual(parsed, { ok: true, value: { daemon_version: "1", readings } });
      }),
    );
  });

  it("sends a reading that was seen after the clock was set back", async () => {
    await open({ preset: "full" });
    cloud.script(PATH, TAKEN, TAKEN);
    assert.equal(await sendLimitReadings(machine.ports), "sent");
    machine.store.limits.save([reading({ usedPpm: 630_000, seenAt: START - 3_600_000 })]);
    assert.equal(await sendLimitReadings(machine.ports), "sent");
    assert.equal(await sendLimitReadings(machine.ports), "nothing");
  });

  it("sends all readings of one instant if they are more than an upload may have", async () => {
    await open({ preset: "full" });
    const accounts = Array.from({ length: MAX_LIMIT_READINGS }, (_, at) => reading({ account: `b${at}` }));
    machine.store.limits.save(accounts);
    cloud.script(PATH, TAKEN, TAKEN);
    for (const result of ["sent", "sent", "nothing"])
      assert.equal(await sendLimitReadings(machine.ports), result);
    const sent = cloud.to(PATH).flatMap(({ body }) => body.readings as { account: string }[]);
    assert.equal(new Set(sent.map(({ account }) => account)).size, MAX_LIMIT_READINGS + 1);
    assert.equal(sent.length, MAX_LIMIT_READINGS + 1);
  });

  it("sends everything again after an update from a version that stored one time for all", async () => {
    await open({ preset: "full" });
    machine.store.notes.write("limit_readings_sent", JSON.stringify({ workspaceId: "w1", seenAt: START }));
    cloud.script(PATH, TAKEN);
    assert.equal(await sendLimitReadings(machine.ports), "sent");
    assert.equal(await sendLimitReadings(machine.ports), "nothing");
  });
});

describeOnOneEngine("limit readings in the real cloud", (engine) => {
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

  it("are the latest of each window, of this workspace only, and none beyond the retention", async () => {
    const workspace = await rig.addWorkspace();
    const other = await rig.addWorkspace();
    const machine = await createMachine(`http://127.0.0.1:${served.port}`, {
      token: workspace.token,
      config: { cloud: { upload: { preset: "full" } } },
    });
    try {
      machine.store.limits.save([
        reading(),
        reading({ window: "old", seenAt: START - 34 * 86_400_000 }),
        reading({ window: "gone", seenAt: START - 40 * 86_400_000 }),
      ]);
      assert.equal(await sendLimitReadings(machine.ports), "sent");
      machine.store.limits.save([reading({ usedPpm: 990_000, status: "warning", seenAt: START - 500 })]);
      assert.equal(await sendLimitReadings(machine.ports), "sent");
      const key = await rig.addKey(workspace, { scope: "admin" });
      const path = `/v1/workspaces/${workspace.id}/limits`;
      const { limits } = await json(rig.call("GET", path, key));
      const [first] = limits;
      assert.deepEqual(
        [first.window, first.account, first.used_ppm, first.status, first.seen_at],
        ["5h", "a1", 990_000, "warning", new Date(START - 500).toISOString()],
      );
      assert.ok(!limits.some(({ window }: { window: string }) => window === "gone"));
      const strange = await rig.addKey(other, { scope: "admin" });
      assert.equal((await rig.call("GET", path, strange)).status, 404);
      const stale = {
        daemon_version: "1",
        readings: [
          {
            provider: "anthropic",
            account: "a1",
            window: "5h",
            unit: "share",
            used_ppm: 1,
            seen_at: "2020-01-01T00:00:00Z",
          },
        ],
      };
      assert.equal((await rig.call("POST", PATH, workspace.token, stale)).status, 200);
      assert.equal((await json(rig.call("GET", path, key))).limits[0].used_ppm, 990_000);
      const hostile = { daemon_version: "1", readings: [{ ...stale.readings[0], used_ppm: -1 }] };
      assert.equal((await rig.call("POST", PATH, workspace.token, hostile)).status, 422);
    } finally {
      await machine.close();
    }
  });
});
