import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { type Served, serve } from "../../adapters/http/serve.ts";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import { withStore } from "../../cli/home/open-store.ts";
import { DAY_MS, HOUR_MS } from "../../core/values/time.ts";
import type { CoverageAnswer } from "../../core/wire/coverage.ts";
import {
  type CloudRig,
  createRig,
  json,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../cloud/kit/cloud-rig.ts";
import { describeOnPostgres } from "../cloud/kit/engines.ts";
import { credentialsFor } from "../daemon/cloud/cloud.rig.ts";
import { onNodeOnly, waitFor } from "./meter-process.rig.ts";
import { type SyncMachine, startSyncMachine } from "./sync-machine.rig.ts";

describeOnPostgres("the coverage of a daemon in a cloud", (engine) => {
  let rig: CloudRig;
  let served: Served;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  let machine: SyncMachine;

  before(async () => {
    const limits = { rateLimits: { perKey: 1e9, perUser: 1e9 } };
    rig = await createRig(engine, { config: limits });
    // The daemon has the real clock.
    rig.clock.advance(Date.now() - START);
    app = rig.app(limits);
    served = await serve((request) => app.fetch(request), { host: "127.0.0.1", port: 0 });
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const settings = `/v1/workspaces/${workspace.id}/settings`;
    const change = await rig.call("PATCH", settings, admin.token, { reporting_zone: zone });
    assert.equal(change.status, 200);
    const url = `http://127.0.0.1:${served.port}`;
    machine = await startSyncMachine(["[cloud]", "enabled = true", `base_url = "${url}"`]);
    await createCredentialStore(machine.home).write(credentialsFor(url, workspace.token));
  });
  after(async () => {
    await machine?.close();
    await served?.close(0);
    await rig?.close();
  });

  /** Returns what both pages say: the sentence, the figures, the times without the meter, and what was missed. */
  function readPage(html: string): readonly string[] {
    const text = (part: string) =>
      part
        .replaceAll(/<span class="sub">.*?<\/span>/g, "")
        .replaceAll(/<[^>]+>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim();
    return [
      /<p class="quiet" data-summary>.*?<\/p>/s,
      /<dl class="figures">.*?<\/dl>/s,
      /<section class="panel" aria-labelledby="stopped-title">.*?<\/section>/s,
      /<summary>\d.*<\/summary>/gs,
    ].map((pattern) =>
      text(
        [...(html.match(pattern) ?? [])]
          .join(" ")
          .replaceAll(/<table.*?<\/table>/gs, (table) => (table.includes("Times without") ? table : "")),
      ),
    );
  }

  const localPage = async () => {
    const secret = readFileSync(tokenFile(machine.home), "utf8").trim();
    const { status, body } = await requestDaemon(machine.meter.apiPort, "/coverage?period=7d", secret, {
      timeoutMs: 60_000,
    });
    assert.equal(status, 200, body);
    return readPage(body);
  };
  const cloudPage = async () => {
    const answer = await app.request(`/w/${workspace.id}/coverage?period=7d`, {
      headers: { cookie: `session=${admin.token}` },
    });
    assert.equal(answer.status, 200);
    return readPage(await answer.text());
  };
  const answer = async (): Promise<CoverageAnswer> =>
    await json(
      rig.call(
        "GET",
        `/v1/workspaces/${workspace.id}/coverage?from=${new Date(Date.now() - 3 * DAY_MS).toISOString()}`,
        admin.token,
      ),
    );

  it("is the same on both pages: calls of two days, and a time in which the meter was not running", {
    skip: onNodeOnly,
  }, async () => {
    const noon = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2;
    await withStore(machine.home, { readOnly: false }, async ({ coverage }) => {
      coverage.add([
        { at: noon, host: "api.openai.com", kind: "metered", count: 1_200 },
        { at: noon, host: "api.openai.com", kind: "tunnelled_http2_only", count: 12 },
        {
          at: noon,
          host: "api.anthropic.com",
          kind: "unknown_path",
          count: 5,
          call: { method: "GET", path: "/v1/secret" },
        },
      ]);
      coverage.saveRun({ from: noon - 9 * HOUR_MS, to: noon - 5 * HOUR_MS });
      coverage.saveRun({ from: noon - 2.25 * HOUR_MS, to: Date.now() });
    });
    await machine.call(3);
    assert.ok(await machine.sync());
    await waitFor("the coverage", async () => (await answer()).metered === 1_203);
    await waitFor("equal pages", async () => `${await localPage()}` === `${await cloudPage()}`).catch(
      () => {},
    );
    const local = await localPage();
    assert.deepEqual(await cloudPage(), local);
    const [sentence, figures, stopped, missed] = local;
    assert.match(sentence ?? "", /^1,203 of 1,220 calls to providers were metered\. Last 7 days: /);
    assert.match(figures ?? "", /Coverage 98\.6% not every call Metered 1,203/);
    assert.match(stopped ?? "", /1 time, 2 h 45 min in all/);
    assert.match(
      missed ?? "",
      /12 connections whose client speaks only HTTP\/2.*5 requests to unknown paths/,
    );
  });

  it("has no host or path in the cloud, and follows the daemon", { skip: onNodeOnly }, async () => {
    const stored = JSON.stringify(await answer());
    assert.doesNotMatch(stored, /openai|anthropic|secret/);
    const rows = await rig.db.selectFrom("coverage_hours").selectAll().execute();
    assert.doesNotMatch(JSON.stringify(rows), /openai|anthropic|secret/);
    await machine.call(1);
    assert.ok(await machine.sync());
    const { metered } = await answer();
    await machine.call(2);
    assert.ok(await machine.sync());
    assert.equal((await answer()).metered, metered + 2);
    await machine.run("cloud", "privacy", "set", "field.coverage", "false");
    await machine.call(1);
    assert.ok(await machine.sync());
    assert.equal((await answer()).metered, metered + 2);
    const shown = await machine.run("cloud", "privacy", "show");
    assert.match(shown, /^coverage +not sent$/m);
  });
});
