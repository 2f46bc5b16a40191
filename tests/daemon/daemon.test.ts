import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { createManualClock } from "../../adapters/clock/manual-clock.ts";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import { createRandomBytes, sha256Hex } from "../../adapters/crypto/node-crypto.ts";
import { createDriver } from "../../adapters/driver/create-driver.ts";
import { serve } from "../../adapters/http/serve.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import type { CloudService } from "../../daemon/cloud/cloud-service.ts";
import { noParentProxies } from "../../daemon/proxy/parent-proxy.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { opener } from "./store/open-sample-store.rig.ts";

const NOW = Date.UTC(2026, 10, 21, 10);
const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), "meter-daemon-"));
after(() => rmSync(folder, { recursive: true }));

interface StartOptions {
  cloud: CloudService | null;
  clock: Clock;
  bodyRetentionDays: number;
}

/** A daemon on free ports, over a database in memory. */
async function startOn(
  store: Store,
  log: Log,
  { cloud = null, clock = createManualClock(NOW), bodyRetentionDays = 90 }: Partial<StartOptions> = {},
) {
  const registry = createRegistry();
  const prices = createPriceBook([]);
  const authority = openCertificateAuthority({ directory: folder, hosts: registry.hosts, now: NOW });
  return await startDaemon(
    {
      version: "0.0.0-test",
      log,
      store,
      registry,
      prices: () => prices,
      attribution: () => ({ attribute: () => Promise.reject(new Error("nobody calls")) }),
      redact: createRedact(),
      createDecoder: createZlibDecoder,
      createMessageInflater: createZlibMessageInflater,
      tokenCounter: () => null,
      sha256Hex,
      randomBytes: createRandomBytes(),
      now: () => clock.now(),
      clock,
      createDriver,
      atTurnEnd: setImmediate,
      later: (work, delayMs) => void setTimeout(work, delayMs),
      owners: null,
      equalSecrets: (one, other) => one === other,
      cloud,
      serve,
    },
    {
      proxy: {
        host: "127.0.0.1",
        port: 0,
        ownPorts: [],
        providerHosts: registry.hostPatterns,
        gatewayRoutes: [],
        authority,
        roots: [],
        parentProxies: noParentProxies,
        proxyPassword: null,
      },
      api: { host: "127.0.0.1", name: "127.0.0.1", port: 0, allowedOrigins: new Set() },
      loopbackToken: "0".repeat(64),
      maxBodyBytes: 524_288,
      bodyRetentionDays,
      warnings: [],
    },
  );
}

describe("startDaemon()", { timeout: 120_000 }, () => {
  it("runs if the cloud service can't be started, and if database pages can't be read", async () => {
    const store = await openStore(opener, ":memory:");
    const logged: { event: string; fields: object }[] = [];
    const write = (event: string, fields: object) => void logged.push({ event, fields: { ...fields } });
    const damaged = () => {
      throw new StoreError("corrupt", "SQLite failed: database disk image is malformed");
    };
    const cloud = { start: async () => damaged(), stop: async () => {}, state: damaged, onFleetBudgets() {} };
    const daemon = await startOn(
      {
        ...store,
        coverage: { ...store.coverage, read: damaged },
        records: { ...store.records, lastCaptures: damaged },
      },
      { debug: write, info: write, warn: write, error: write },
      { cloud: cloud as unknown as CloudService },
    );
    try {
      assert.deepEqual(daemon.health(), {
        status: "ok",
        version: "0.0.0-test",
        started_at: new Date(NOW).toISOString(),
      });
      assert.deepEqual(
        logged.filter(({ event }) => event === "daemon.task_crashed").map(({ fields }) => fields),
        [
          {
            task: "cloud",
            error: "StoreError",
            message: "SQLite failed: database disk image is malformed",
          },
        ],
      );
    } finally {
      await daemon.stop(0);
    }
  });

  it("logs a heartbeat every 30 s, and sweeps expired bodies a minute after the start and daily", async () => {
    const store = await openStore(opener, ":memory:");
    const clock = createManualClock(NOW);
    store.bodies.insert(
      [13, 11, 11].map((ageDays, at) => ({
        requestId: `request ${at}`,
        direction: "request",
        capturedAt: NOW - ageDays * DAY_MS,
        contentType: null,
        content: new Uint8Array([97]),
        originalSizeBytes: 1,
        truncated: false,
        redactionApplied: false,
        redactionSummary: [],
      })),
    );
    const logged: { event: string; fields: Record<string, unknown> }[] = [];
    const arrivals = new Set<() => void>();
    const write = (event: string, fields: object) => {
      logged.push({ event, fields: { ...fields } });
      for (const arrived of arrivals) arrived();
    };
    const events = (name: string) => logged.filter(({ event }) => event === name);
    /** Waits until so many lines of an event are written. */
    const until = async (name: string, count: number) => {
      while (events(name).length < count) {
        await new Promise<void>((resolve) => arrivals.add(resolve));
        arrivals.clear();
      }
    };
    const daemon = await startOn(
      store,
      { debug: write, info: write, warn: write, error: write },
      { clock, bodyRetentionDays: 12 },
    );
    try {
      clock.advance(29_999);
      assert.equal(events("daemon.heartbeat").length, 0);
      clock.advance(1);
      await until("daemon.heartbeat", 1);
      clock.advance(30_000);
      await until("daemon.heartbeat", 2);
      assert.deepEqual(Object.keys(events("daemon.heartbeat")[0]?.fields ?? {}), [
        "uptime_ms",
        "records",
        "pending",
        "connections",
      ]);
      await until("bodies.retention_sweep", 1);
      const { deleted, retention_days } = events("bodies.retention_sweep")[0]?.fields ?? {};
      assert.deepEqual([deleted, retention_days, store.bodies.stats().bodies], [1, 12, 2]);
      clock.advance(2 * DAY_MS);
      await until("bodies.retention_sweep", 2);
    } finally {
      await daemon.stop(0);
    }
  });
});
