import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Agent, fetch, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import type { AdministrationParts } from "../../../cli/meter-cloud/administration.ts";
import type { Manifest } from "../../../cli/meter-cloud/backup.ts";
import { openControlChannel, requestFromServer } from "../../../cli/meter-cloud/control-channel.ts";
import { type CloudProcess, startCloudProcess } from "../../cloud/kit/cloud-process.ts";
import { runCloudWords } from "./run-cloud-command.rig.ts";

const skip = "Deno" in globalThis || "Bun" in globalThis ? "starts processes of Node's" : false;

describe("meter-cloud while a server has the embedded database open", { skip, timeout: 300_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "meter-cloud-control-"));
  const control = join(home, "database", "control.json");
  let server: CloudProcess;
  let workspaceId = "";
  before(async () => {
    server = await startCloudProcess({ home, withDatabase: true });
  });
  after(async () => {
    await server.end("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });
  const run = async (...words: string[]) => {
    const said = await runCloudWords(words, { METER_CLOUD_HOME: home });
    assert.deepEqual([said.code, said.stderr], [0, ""], words.join(" "));
    return said.stdout;
  };

  it("creates an account, changes a plan and lists both through the server", async () => {
    const made = JSON.parse(
      await run("admin", "create-user", "--email", "ann@example.com", "--name", "Ann", "--json"),
    );
    workspaceId = made.workspace_id;
    assert.match(await run("admin", "set-plan", workspaceId, "business"), /is on the plan business/);
    assert.deepEqual(JSON.parse(await run("admin", "list", "ann@example.com", "--json")), [
      { workspace_id: workspaceId, name: "Main", plan: "business", role: "admin" },
    ]);
  });

  it("verifies, seeds, migrates and purges through the server", async () => {
    assert.match(
      await run("ledger", "verify", workspaceId),
      /^Prompt views: intact, 0 rows.*\nAudit events: intact, 2 rows/s,
    );
    assert.match(await run("rates", "seed"), /The bundled rates are already stored/);
    assert.match(await run("migrate"), /up to date/);
    assert.match(await run("purge", "--dry-run"), /Nothing is due/);
    assert.match(await run("purge", "--now"), /Nothing is due/);
    const certified = await runCloudWords(["purge", "--certificate", workspaceId], {
      METER_CLOUD_HOME: home,
    });
    assert.deepEqual(
      [certified.code, certified.stderr],
      [4, `meter-cloud: No workspace, organisation or account with the id ${workspaceId} was erased.\n`],
    );
  });

  it("prints the server's error message", async () => {
    const words = ["admin", "set-plan", "01994b8e-7c00-7000-8000-000000000000", "team"];
    const said = await runCloudWords(words, { METER_CLOUD_HOME: home });
    assert.deepEqual(
      [said.code, said.stderr],
      [4, "meter-cloud: There is no workspace 01994b8e-7c00-7000-8000-000000000000.\n"],
    );
  });

  it("is answered only with the secret of a file that only the owner can read", async () => {
    if (process.platform !== "win32") assert.equal(statSync(control).mode & 0o777, 0o600);
    const { port, secret } = JSON.parse(readFileSync(control, "utf8"));
    const body = JSON.stringify({ name: "set_plan", input: { workspaceId, plan: "solo" } });
    for (const authorization of ["", "Bearer ", `Bearer ${secret}x`, secret]) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, {
        method: "POST",
        headers: { authorization },
        body,
      });
      assert.equal(answer.status, 404, authorization);
    }
    assert.match(await run("admin", "list", "ann@example.com"), /business/);
  });

  it("opens the database itself after the server has stopped, and leaves no file behind", async () => {
    assert.equal(await server.end("SIGTERM"), 0);
    assert.equal(existsSync(control), false);
    assert.match(await run("admin", "set-plan", workspaceId, "team"), /is on the plan team/);
  });
});

describe("requestFromServer()", { skip }, () => {
  it("waits for a task as long as it takes", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-cloud-control-"));
    const back_up = { written: true } as unknown as Manifest;
    const parts = { backUp: () => setTimeout(2_000, back_up) } as unknown as AdministrationParts;
    const channel = await openControlChannel(home, parts);
    const dispatcher = getGlobalDispatcher();
    // What `fetch` waits for a response, five minutes by default.
    setGlobalDispatcher(new Agent({ headersTimeout: 100 }));
    try {
      assert.deepEqual(await requestFromServer(home, "back_up", { folder: home }), { result: back_up });
    } finally {
      setGlobalDispatcher(dispatcher);
      await channel.close();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
