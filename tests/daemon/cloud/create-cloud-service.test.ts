import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/mod.ts";
import { createCloudService } from "../../../daemon/cloud/mod.ts";
import { sampleRecord } from "../store/sample-records.ts";
import { createMachine, type ScriptedCloud, startScriptedCloud, until } from "./cloud-kit.ts";

let cloud: ScriptedCloud;
beforeEach(async () => {
  cloud = await startScriptedCloud();
});
afterEach(() => cloud.close());

const bodiesOn = { cloud: { bodies: { enabled: true, upload_from: "2020-01-01" } } };

describe("resume()", () => {
  it("tries both workers at once that have degraded", async () => {
    const clock = createManualClock(Date.UTC(2026, 10, 21));
    const machine = await createMachine(cloud.url, { clock, config: bodiesOn });
    let broken = true;
    const failing = <Work extends (...words: never[]) => unknown>(work: Work): Work =>
      ((...words: never[]) => {
        if (broken) throw new TypeError("the store is away");
        return work(...words);
      }) as Work;
    const { store } = machine;
    const service = createCloudService({
      ...machine.ports,
      store: {
        ...store,
        pendingProjects: failing(store.pendingProjects),
        pendingBodies: failing(store.pendingBodies),
      },
    });
    try {
      await service.start();
      const are = async (status: string) => {
        const { workers } = await service.state();
        return workers?.sync === status && workers.bodies === status;
      };
      await until("both to degrade", async () => {
        // Less than proves a run: one that is about to fail must not count as healthy.
        clock.advance(2_000);
        return await are("degraded");
      });
      broken = false;
      assert.equal((await service.resume()).ok, true);
      // Well before the 300 s are over: the clock stands still.
      await until("both to be tried", () => are("retrying"));
    } finally {
      await service.stop();
      await machine.close();
    }
  });
});

describe("disconnect()", () => {
  it("has the key until the cloud has revoked it: killed in between, it can be asked again", async () => {
    const machine = await createMachine(cloud.url);
    try {
      let hadKey = false;
      cloud.script("/v1/daemon/key", (_, response) => {
        hadKey = existsSync(join(machine.home, "cloud-credentials.json"));
        response.writeHead(204).end();
      });
      await machine.service.disconnect();
      assert.equal(hadKey, true);
      assert.equal(await machine.ports.credentials.read(), null);
    } finally {
      await machine.close();
    }
  });
});

describe("syncNow()", () => {
  it("sends neither a batch nor a body that can't be written into the outbox first", async () => {
    const machine = await createMachine(cloud.url, { config: bodiesOn });
    try {
      const [known, waiting] = [sampleRecord(), sampleRecord()];
      machine.store.insertRecords([known, waiting]);
      machine.store.settleRequests({ synced: [known.requestId], skipped: [], quarantined: [], at: 1 });
      machine.store.insertBodies([
        {
          requestId: known.requestId,
          direction: "request",
          // After body sync is found switched on.
          capturedAt: Date.now() + 3_600_000,
          contentType: null,
          content: new Uint8Array([97]),
          originalSizeBytes: 1,
          truncated: false,
          redactionApplied: false,
          redactionSummary: [],
        },
      ]);
      let full = true;
      const { outbox } = machine.ports;
      const service = createCloudService({
        ...machine.ports,
        outbox: {
          ...outbox,
          append: (item) => (full ? Promise.reject(new Error("ENOSPC")) : outbox.append(item)),
        },
      });
      assert.equal((await service.syncNow()).kind, "not_synced");
      assert.deepEqual(cloud.seen, []);
      assert.deepEqual(
        [...new Set(machine.notices.filter((each) => each.includes("outbox")))],
        ["the outbox can't be written, so nothing is sent"],
      );
      full = false;
      const { kind, bodies } = await service.syncNow();
      assert.deepEqual([kind, bodies?.pending, cloud.seen.length], ["synced", 0, 2]);
    } finally {
      await machine.close();
    }
  });
});

describe("start()", () => {
  it("notices that a person has switched body sync on in the file: stamped with now, and told", async () => {
    const machine = await createMachine(cloud.url);
    const stamp = () => machine.store.readCloudState("cloud_body_sync_state").upload_from;
    try {
      await machine.service.start();
      assert.equal(stamp(), null);
      const before = Date.now();
      machine.config.cloud = {
        ...(machine.config.cloud as object),
        bodies: { enabled: true, upload_from: "none" },
      };
      await machine.service.reload();
      await until("the stamp", () => stamp() !== null);
      assert.ok((stamp() ?? 0) >= before);
      await until("the notice", () => machine.notices.some((each) => each.startsWith("body sync is on")));
    } finally {
      await machine.close();
    }
  });
});
