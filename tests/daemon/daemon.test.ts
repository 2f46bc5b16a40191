import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openCertificateAuthority } from "../../adapters/certificates/mod.ts";
import { createManualClock } from "../../adapters/clock/mod.ts";
import { createZlibDecoder, createZlibMessageInflater } from "../../adapters/content-decoder/mod.ts";
import { createRandomBytes, sha256Hex } from "../../adapters/crypto/mod.ts";
import { createDriver } from "../../adapters/driver/mod.ts";
import { serve } from "../../adapters/http/mod.ts";
import type { Log } from "../../core/ports/log.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import { createPriceBook } from "../../core/pricing/mod.ts";
import { createRedact } from "../../core/redaction/mod.ts";
import { createRegistry } from "../../core/usage/mod.ts";
import type { CloudService } from "../../daemon/cloud/mod.ts";
import { startDaemon } from "../../daemon/daemon.ts";
import { noParentProxies } from "../../daemon/proxy/mod.ts";
import { openStore, type Store } from "../../daemon/store/mod.ts";
import { opener } from "./store/open-sample-store.ts";

const NOW = Date.UTC(2026, 10, 21, 10);
const folder = mkdtempSync(join(tmpdir(), "meter-daemon-"));
after(() => rmSync(folder, { recursive: true }));

/** A daemon on free ports, over a database in memory. */
async function startOn(store: Store, log: Log, cloud: CloudService | null) {
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
      tokenCounter: null,
      sha256Hex,
      randomBytes: createRandomBytes(),
      now: () => NOW,
      clock: createManualClock(NOW),
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
      bodyRetentionDays: 90,
      warnings: [],
    },
  );
}

describe("startDaemon()", { timeout: 120_000 }, () => {
  it("runs where the cloud's side can't be started, and where the database's pages can't be read", async () => {
    const store = await openStore(opener, ":memory:");
    const logged: { event: string; fields: object }[] = [];
    const write = (event: string, fields: object) => void logged.push({ event, fields: { ...fields } });
    const damaged = () => {
      throw new StoreError("corrupt", "SQLite failed: database disk image is malformed");
    };
    const cloud = { start: async () => damaged(), stop: async () => {}, state: damaged };
    const daemon = await startOn(
      { ...store, readCoverage: damaged, lastCaptures: damaged },
      { debug: write, info: write, warn: write, error: write },
      cloud as unknown as CloudService,
    );
    try {
      assert.deepEqual(daemon.health(), {
        status: "ok",
        version: "0.0.0-test",
        started_at: new Date(NOW).toISOString(),
      });
      assert.deepEqual(
        logged.filter(({ event }) => event === "daemon.task_crashed").map(({ fields }) => fields),
        [{ task: "cloud", error: "StoreError" }],
      );
    } finally {
      await daemon.stop(0);
    }
  });
});
