import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { HOUR_MS } from "../../../core/values/time.ts";
import { json, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { HOSTILE, openTeamPages, type TeamPages } from "./pages.rig.ts";

describeOnOneEngine("the limits of a workspace's machines", (engine) => {
  let { rig, app, workspace, get, read } = {} as TeamPages;
  const at = (inMs: number) => new Date(START + inMs).toISOString();
  before(async () => {
    ({ rig, app, workspace, get, read } = await openTeamPages(engine));
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const machine = `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`;
    assert.equal((await rig.call("PATCH", machine, admin.token, { name: "build <1>" })).status, 204);
    const used = { provider: "anthropic", account: "a".repeat(32), unit: "share", seen_at: at(-60_000) };
    const readings = [
      {
        ...used,
        window: "7d",
        window_ms: 168 * HOUR_MS,
        used_ppm: 1_000_000,
        reset_at: at(24 * HOUR_MS),
        status: "exceeded",
      },
      { ...used, window: "5h", window_ms: 5 * HOUR_MS, used_ppm: 620_000, reset_at: at(HOUR_MS) },
      { ...used, window: "5h", scope: HOSTILE, window_ms: 5 * HOUR_MS, used_ppm: 1, reset_at: at(HOUR_MS) },
      { ...used, window: "rate", reset_at: at(-1) },
    ];
    const sent = await json(
      rig.call("POST", "/v1/daemon/limits", workspace.token, { daemon_version: "1", readings }),
    );
    assert.equal(sent.stored, readings.length);
  });
  after(() => rig.close());

  it("are listed with their machine, the shortest window first, without those that have refilled", async () => {
    const page = await read("/limits");
    const rows = [...page.matchAll(/<th scope="row" class="name"><bdi>(.*?)<\/bdi>/g)].map(
      ([, name]) => name,
    );
    assert.deepEqual(rows, ["5h", "5h · &lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;", "7d"]);
    assert.match(page, /62%/);
    assert.match(page, /<span class="bad">full<\/span>/);
    assert.match(page, /on <bdi>build &lt;1&gt;<\/bdi>/);
    assert.ok(!page.includes(HOSTILE));
  });

  it("have a page that says how they are sent if there are none", async () => {
    const other = await rig.addWorkspace();
    const page = await read("/limits", await rig.personIn(other, "member"), other);
    assert.match(page, /No limits received/);
    assert.match(page, /field\.limit_readings/);
  });

  it("are for members only", async () => {
    assert.equal((await get("/limits", await rig.personIn(workspace, "stranger"))).status, 404);
    assert.equal((await app.request(`/w/${workspace.id}/limits`)).status, 303);
  });
});
