import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { createMachine, type ScriptedCloud, startScriptedCloud, until } from "./cloud.rig.ts";

let cloud: ScriptedCloud;
beforeEach(async () => {
  cloud = await startScriptedCloud();
});
afterEach(() => cloud.close());

const bodiesOn = { cloud: { bodies: { enabled: true, upload_from: "2020-01-01" } } };

describe("resume()", () => {
  it("restarts both degraded workers at once", async () => {
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
        delivery: { ...store.delivery, pendingProjects: failing(store.delivery.pendingProjects) },
        bodyDelivery: { ...store.bodyDelivery, pending: failing(store.bodyDelivery.pending) },
      },
    });
    try {
      await service.start();
      const are = async (status: string) => {
        const { workers } = await service.state();
        return workers?.sync === status && workers.bodies === status;
      };
      await until("both to degrade", async () => {
        // Shorter than a healthy run: one that is about to fail must not count as healthy.
        clock.advance(2_000);
        return await are("degraded");
      });
      broken = false;
      assert.equal((await service.resume()).ok, true);
      // Well before the 300 s have passed: the clock stands still.
      await until("both to be tried", () => are("retrying"));
    } finally {
      await service.stop();
      await machine.close();
    }
  });
});

describe("disconnect()", () => {
  it("keeps the key until the cloud has revoked it, so that it can be repeated after a kill", async () => {
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
  it("sends no batch and no body that can't be recorded in the outbox", async () => {
    const machine = await createMachine(cloud.url, { config: bodiesOn });
    try {
      const [known, waiting] = [sampleRecord(), sampleRecord()];
      machine.store.records.insert([known, waiting]);
      machine.store.delivery.settle({ synced: [known.requestId], skipped: [], quarantined: [], at: 1 });
      machine.store.bodies.insert([
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
      // The request whether the workspace stores bodies contains nothing that was metered.
      assert.deepEqual(
        cloud.seen.map(({ path }) => path),
        ["/v1/daemon/whoami"],
      );
      assert.deepEqual(
        [...new Set(machine.notices.filter((each) => each.includes("outbox")))],
        ["The outbox can't be written, so nothing is sent. Free disk space or check its permissions."],
      );
      full = false;
      const { kind, bodies } = await service.syncNow();
      assert.deepEqual([kind, bodies?.pending, cloud.seen.length], ["synced", 0, 4]);
    } finally {
      await machine.close();
    }
  });
});

describe("start()", () => {
  it("notices that the user switched body sync on in the file, stamps it with now and prints a notice", async () => {
    const machine = await createMachine(cloud.url);
    const stamp = () => machine.store.delivery.readState("cloud_body_sync_state").upload_from;
    try {
      await machine.service.start();
      assert.equal(stamp(), null);
      const before = Date.now();
      machine.config.cloud = {
        ...(machine.config.cloud as object),
        bodies: { enabled: true },
      };
      await machine.service.reload();
      await until("the stamp", () => stamp() !== null);
      assert.ok((stamp() ?? 0) >= before);
      await until("the notice", () => machine.notices.some((each) => each.startsWith("Body sync is on")));
    } finally {
      await machine.close();
    }
  });
});
