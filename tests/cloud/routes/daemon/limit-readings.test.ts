import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { limitsSchema } from "../../../../core/wire/limit-readings.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

describeOnOneEngine("the readings of limits", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine);
  });
  after(() => rig.close());

  const setUp = async () => {
    const workspace = await rig.addWorkspace();
    const at = (inMs = 0) => new Date(rig.clock.now() + inMs).toISOString();
    return {
      at,
      send: async (used_ppm: number, seen_at = at()) => {
        const used = { provider: "anthropic", window: "5h", window_ms: 18_000_000, unit: "share" };
        const readings = [{ ...used, used_ppm, reset_at: at(3_600_000), seen_at }];
        const body = { daemon_version: "1", readings };
        const answer = await rig.call("POST", "/v1/daemon/limits", workspace.token, body);
        assert.equal(answer.status, 200);
      },
      read: async () => {
        const member = await rig.sessionFor(workspace.userId);
        const said = parseWire(
          limitsSchema,
          await json(rig.call("GET", `/v1/workspaces/${workspace.id}/limits`, member)),
        );
        assert.ok(said.ok);
        return said.value.limits.map((each) => [each.used_ppm, Date.parse(each.seen_at)]);
      },
    };
  };

  it("are replaced by newer ones only", async () => {
    const { send, read, at } = await setUp();
    await send(20);
    await send(10, at(-60_000));
    assert.deepEqual(await read(), [[20, rig.clock.now()]]);
    // A time in the future comes from a wrong clock of the machine.
    await send(30, at(86_400_000));
    assert.deepEqual(await read(), [[30, rig.clock.now()]]);
  });

  it("are replaced after the cloud's clock was set back", async () => {
    const { send, read } = await setUp();
    await send(20);
    rig.clock.jump(rig.clock.now() - 86_400_000);
    // The rate limit refuses a first request then.
    await assert.rejects(send(25));
    rig.clock.advance(60_000);
    await send(30);
    assert.deepEqual(await read(), [[30, rig.clock.now()]]);
  });
});
