import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import {
  createMachine,
  type Machine,
  type ScriptedCloud,
  startScriptedCloud,
  TOKEN,
  until,
  WHOAMI,
} from "./cloud.rig.ts";

let cloud: ScriptedCloud;
let machine: Machine;

beforeEach(async () => {
  cloud = await startScriptedCloud();
  machine = await createMachine(cloud.url, { paired: false });
  cloud.otherwise("/v1/pairing/start", { status: 201, body: ticket });
  cloud.otherwise("/v1/pairing/poll", { status: 200, body: approved });
});
afterEach(async () => {
  await machine.close();
  await cloud.close();
});

const ticket = {
  code: "ABCD-1234",
  poll_token: "p".repeat(43),
  verification_url: "http://127.0.0.1:1/connect?code=ABCD-1234",
  expires_in: 600,
  interval: 0,
};
const HASH_KEY = "5e".repeat(32);
const approved = {
  status: "approved",
  sync_token: TOKEN,
  workspace: { id: "w1", name: "Work" },
  prompt_hash_key: HASH_KEY,
};

describe("pairing", () => {
  it("shows the code, polls, stores the token with its origin, 0600, and its mirror encrypted", async () => {
    cloud.script("/v1/pairing/poll", { status: 200, body: { status: "pending" } }, { status: 503 });
    const before = Date.now();
    const result = await machine.service.connect();
    assert.deepEqual(
      { ...result, expiresAt: 0 },
      { kind: "code", code: "ABCD-1234", verificationUrl: ticket.verification_url, expiresAt: 0 },
    );
    const status = await machine.service.connectSettled();
    assert.deepEqual([status.status, status.workspace_name], ["approved", "Work"]);
    const [start] = cloud.to("/v1/pairing/start");
    assert.deepEqual(start?.body, {
      fingerprint: "0".repeat(32),
      hostname: "laptop",
      platform: "linux",
      daemon_version: "0.4.0",
    });
    assert.equal(start?.authorization, undefined);
    const credentials = await machine.ports.credentials.read();
    assert.deepEqual([credentials?.token, credentials?.origin], [TOKEN, cloud.url]);
    assert.equal(credentials?.promptHashKey, HASH_KEY);
    for (const file of ["cloud-credentials.json", "cloud-credentials.key"]) {
      assert.equal(statSync(join(machine.home, file)).mode & 0o777, 0o600, file);
    }
    const { api_key_mirror: mirror, ...row } = machine.store.delivery.readState("cloud_state");
    assert.ok((row.last_connected_at ?? 0) >= before);
    assert.deepEqual(
      { ...row, last_connected_at: 0 },
      {
        enabled: 1,
        workspace_id: "w1",
        workspace_name: "Work",
        machine_id: "0".repeat(32),
        hostname: "laptop",
        last_connected_at: 0,
        paused_reason: null,
      },
    );
    assert.equal(Buffer.from(mirror ?? []).includes(TOKEN), false);
    assert.deepEqual(await machine.ports.credentials.open(mirror ?? new Uint8Array()), credentials);
    assert.deepEqual((await machine.service.state()).paired, true);
    // Neither the token nor the poll's secret appears in output or logs.
    const shown = JSON.stringify([
      machine.logged,
      machine.service.connectStatus(),
      await machine.service.state(),
    ]);
    assert.equal(shown.includes(TOKEN) || shown.includes(ticket.poll_token), false);
  });

  for (const status of ["denied", "expired", "failed"]) {
    it(`settles as ${status}`, async () => {
      cloud.script("/v1/pairing/poll", { status: 200, body: { status } });
      await machine.service.connect();
      assert.equal((await machine.service.connectSettled()).status, status);
      assert.equal(await machine.ports.credentials.read(), null);
    });
  }

  it("reports why it could not start", async () => {
    cloud.script("/v1/pairing/start", { status: 429 });
    assert.deepEqual(await machine.service.connect(), {
      kind: "failed",
      message: "pairing did not start (HTTP 429)",
    });
    machine.config.cloud = {};
    assert.deepEqual(await machine.service.connect(), { kind: "no_base_url" });
    assert.equal((await machine.service.connect({ baseUrl: "http://evil.com" })).kind, "failed");
    assert.equal((await machine.service.connect({ baseUrl: cloud.url })).kind, "code");
    await machine.service.connectSettled();
    assert.equal((await machine.service.state()).baseUrl, cloud.url);
  });

  it("reports valid credentials instead of pairing again, unless forced", async () => {
    await machine.service.connect();
    await machine.service.connectSettled();
    const again = await machine.service.connect();
    assert.deepEqual([again.kind, "workspaceName" in again && again.workspaceName], ["connected", "Work"]);
    assert.equal(cloud.to("/v1/pairing/start").length, 1);
    assert.equal((await machine.service.connect({ force: true })).kind, "code");
    await machine.service.connectSettled();
    cloud.script("/v1/daemon/whoami", { status: 500 });
    assert.equal((await machine.service.connect()).kind, "failed");
    cloud.script("/v1/daemon/whoami", { status: 401 });
    assert.equal((await machine.service.connect()).kind, "code");
  });

  it("saves the base URL of a connection that is still valid, and enables it", async () => {
    await machine.service.connect();
    await machine.service.connectSettled();
    machine.config.cloud = { enabled: false, base_url: "https://other.dev" };
    assert.equal((await machine.service.connect({ baseUrl: cloud.url })).kind, "connected");
    const { enabled, baseUrl, paired } = await machine.service.state();
    assert.deepEqual([enabled, baseUrl, paired], [true, cloud.url, true]);
    machine.config.cloud = { enabled: false, base_url: cloud.url };
    assert.equal((await machine.service.connect({ byPage: true })).kind, "connected");
    assert.equal((await machine.service.state()).enabled, false);
  });

  it("cancels the handshake in progress before it starts another", async () => {
    let gone = 0;
    cloud.script("/v1/pairing/poll", (_, response) => response.on("close", () => (gone += 1)));
    await machine.service.connect();
    await until("the poll to arrive", () => cloud.to("/v1/pairing/poll").length === 1);
    assert.equal((await machine.service.connect()).kind, "code");
    await until("the old poll to be given up", () => gone === 1);
    assert.equal((await machine.service.connectSettled()).status, "approved");
  });

  it("answers an earlier request if a newer one arrives before there is a code", async () => {
    cloud.script("/v1/pairing/start", () => {});
    const first = machine.service.connect();
    await until("the start to arrive", () => cloud.to("/v1/pairing/start").length === 1);
    assert.equal((await machine.service.connect()).kind, "code");
    assert.deepEqual(await first, {
      kind: "failed",
      message: "replaced by a newer request to connect",
    });
  });

  it("answers a request that waits for a code when it is stopped", async () => {
    cloud.script("/v1/pairing/start", () => {});
    const connecting = machine.service.connect();
    await until("the start to arrive", () => cloud.to("/v1/pairing/start").length === 1);
    await machine.service.stop();
    assert.deepEqual(await connecting, { kind: "failed", message: "the daemon is stopping" });
  });

  it("ends when it is cancelled", async () => {
    cloud.script("/v1/pairing/poll", () => {});
    await machine.service.connect();
    await machine.service.cancelConnect();
    assert.equal(machine.service.connectStatus().status, "idle");
    assert.equal(await machine.ports.credentials.read(), null);
  });

  // Planted: a new driver at once. On a full disk it failed too, and so did the next ones, without a turn for other
  // work.
  it("waits before it retries if neither the credentials nor its state can be stored", async () => {
    const clock = createManualClock(Date.UTC(2026, 10, 21));
    const own = await createMachine(cloud.url, { paired: false, clock });
    try {
      let tries = 0;
      const { saveMachineState } = own.store.delivery;
      const fail = () => {
        tries += 1;
        if (tries === 20) Object.assign(own.store.delivery, { saveMachineState });
        throw new Error("the disk is full");
      };
      Object.assign(own.ports.credentials, {
        write: async () => {
          Object.assign(own.store.delivery, { saveMachineState: fail });
          throw new Error("the disk is full");
        },
      });
      assert.equal((await own.service.connect()).kind, "code");
      const settled = own.service.connectSettled();
      const crashes = () => own.logged.filter(({ event }) => event === "daemon.task_crashed").length;
      for (const count of [1, 2, 3]) {
        await until("the failure", () => crashes() === count);
        assert.deepEqual([clock.nextTimerMs(), tries], [1_000, count - 1]);
        if (count === 3) Object.assign(own.store.delivery, { saveMachineState });
        clock.advance(1_000);
      }
      assert.equal((await settled).status, "failed");
    } finally {
      await own.close();
    }
  });

  for (const [who, options, first, again, anew] of [
    ["the owner", {}, 2, 1, 2],
    // Replacing a key interrupts nothing.
    ["a page", { byPage: true }, 0, 1, 0],
    ["the owner with --from-now", { fromNow: true }, 0, 0, 0],
  ] as const) {
    it(`for ${who}: sends ${first} of the waiting requests, ${again} after pairing again, ${anew} after a disconnect`, async () => {
      const connect = async (force: boolean) => {
        await machine.service.connect({ ...options, force });
        await machine.service.connectSettled();
        return machine.store.delivery.countPending();
      };
      machine.store.records.insert([sampleRecord(), sampleRecord()]);
      assert.equal(await connect(false), first);
      machine.store.records.insert([sampleRecord()]);
      assert.equal((await machine.service.syncNow()).report.accepted, first + 1);
      machine.store.records.insert([sampleRecord()]);
      assert.equal(await connect(true), again);
      await machine.service.syncNow();
      await machine.service.disconnect();
      machine.store.records.insert([sampleRecord(), sampleRecord()]);
      assert.equal(await connect(false), anew);
    });
  }

  it("with --from-now, skips what waited before there are credentials, with which sync would send it", async () => {
    const { write } = machine.ports.credentials;
    const pending: number[] = [];
    Object.assign(machine.ports.credentials, {
      write: async (...credentials: Parameters<typeof write>) => {
        pending.push(machine.store.delivery.countPending());
        await write(...credentials);
      },
    });
    machine.store.records.insert(Array.from({ length: 1_500 }, () => sampleRecord()));
    await machine.service.connect({ fromNow: true });
    await machine.service.connectSettled();
    assert.deepEqual(pending, [0]);
  });

  it("resumes a sync that was paused because of an invalid key", async () => {
    await machine.service.connect();
    await machine.service.connectSettled();
    machine.store.records.insert([sampleRecord()]);
    cloud.script("/v1/requests/batch", { status: 401 });
    await machine.service.syncNow();
    await machine.service.connect({ force: true });
    await machine.service.connectSettled();
    assert.equal((await machine.service.syncNow()).report.accepted, 1);
  });
});

describe("disconnect()", () => {
  beforeEach(async () => {
    await machine.service.connect();
    await machine.service.connectSettled();
  });

  it("revokes the key in the cloud, deletes the credentials and disables the cloud", async () => {
    assert.deepEqual(await machine.service.disconnect(), {
      kind: "disconnected",
      revoked: true,
      error: null,
    });
    assert.equal(cloud.to("/v1/daemon/key")[0]?.method, "DELETE");
    const { enabled, paired } = await machine.service.state();
    assert.deepEqual([enabled, paired], [false, false]);
    const row = machine.store.delivery.readState("cloud_state");
    assert.deepEqual([row.enabled, row.api_key_mirror], [0, null]);
    assert.deepEqual(await machine.service.disconnect(), { kind: "not_connected" });
  });

  it("treats a key that the cloud no longer knows as revoked", async () => {
    cloud.script("/v1/daemon/key", { status: 401 });
    const { kind, ...result } = await machine.service.disconnect();
    assert.deepEqual([kind, result], ["disconnected", { revoked: true, error: null }]);
    assert.equal(await machine.ports.credentials.read(), null);
  });

  it("deletes the credentials and warns if the cloud can't be reached", async () => {
    cloud.script("/v1/daemon/key", (_, response) => void response.destroy());
    assert.deepEqual(await machine.service.disconnect(), {
      kind: "disconnected",
      revoked: false,
      error: "no answer: connection_reset",
    });
    assert.equal(await machine.ports.credentials.read(), null);
  });
});

describe("whoami()", () => {
  it("distinguishes a valid key, an invalid one, a blocked machine and a failure", async () => {
    assert.deepEqual(await machine.service.whoami(), { kind: "not_connected" });
    await machine.service.connect();
    await machine.service.connectSettled();
    machine.store.delivery.updateState("cloud_state", { last_connected_at: null });
    const renamed = { ...WHOAMI, workspace: { ...WHOAMI.workspace, name: "Play" } };
    cloud.script("/v1/daemon/whoami", { status: 200, body: renamed });
    assert.deepEqual(await machine.service.whoami(), { kind: "valid", whoami: renamed });
    const { last_connected_at, workspace_name } = machine.store.delivery.readState("cloud_state");
    assert.deepEqual([last_connected_at !== null, workspace_name], [true, "Play"]);
    assert.equal((await machine.service.state()).workspaceName, "Play");
    const problem = { type: "about:blank", status: 403, code: "machine_blocked" };
    cloud.script("/v1/daemon/whoami", { status: 401 }, { status: 403, body: problem }, { status: 502 });
    assert.deepEqual(await machine.service.whoami(), { kind: "key_invalid" });
    assert.deepEqual(await machine.service.whoami(), { kind: "forbidden", code: "machine_blocked" });
    assert.deepEqual(await machine.service.whoami(), {
      kind: "failed",
      httpStatus: 502,
      error: "HTTP 502",
    });
  });
});
