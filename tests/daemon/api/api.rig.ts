import { createManualClock, type ManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import type { ConnectionOwner } from "../../../core/ports/connection-owner.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import type { ApiPorts } from "../../../daemon/api/api-ports.ts";
import { createApi } from "../../../daemon/api/app.ts";
import type { DaemonStatus } from "../../../daemon/api/daemon-status.ts";
import { createMeteredCounters } from "../../../daemon/api/metrics.ts";
import { createRecordFeed } from "../../../daemon/api/record-feed.ts";
import { createCounters } from "../../../daemon/proxy/counters.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { opener } from "../store/open-sample-store.rig.ts";

/** The address at which the API responds in tests. */
export const HOST = "127.0.0.1:8765";
/** The dashboard origin that it allows. */
export const DASHBOARD = "https://dashboard.meter.cloud";

/** A daemon that has just started. */
export const sampleStatus: DaemonStatus = {
  version: "0.4.0",
  started_at: "2026-05-12T08:00:00.000Z",
  proxy: {
    port: 8081,
    connections: 2,
    restarts: 1,
    watchdog: "healthy",
    counters: {
      ...createCounters(),
      accepted: 7,
      warm: { ready: 2, used: 5, missed: 1, unused: 0, failed: 0 },
    },
  },
  api: { port: 8765 },
  store: {
    capturing: "ok",
    lastError: null,
    pending: 0,
    stored: 3,
    dropped: { disk_full: 2 },
    set_aside: null,
    bodies_held: null,
  },
  last_24_hours: { coverage: [], unlisted_hosts: [], last_captures: [] },
  configured_providers: [],
  warnings: [],
};

const prices = createPriceBook(loadBundledRates());

/** The API on a store in memory. */
export interface ApiRig {
  store: Store;
  ports: ApiPorts;
  /** Sends a request as a program of this user does, unless the headers say otherwise. */
  ask(path: string, init?: RequestInit & { host?: string; url?: string }): Promise<Response>;
  clock: ManualClock;
  close(): void;
}

export async function openApi(
  change: Partial<ApiPorts> & { owner?: ConnectionOwner | null } = {},
): Promise<ApiRig> {
  const store = await openStore(opener, ":memory:");
  const owner = change.owner === undefined ? "self" : change.owner;
  const clock = createManualClock(Date.UTC(2026, 4, 12, 18));
  const ports: ApiPorts = {
    version: "0.4.0",
    allowedHosts: new Set([HOST, "localhost:8765", "[::1]:8765"]),
    allowedOrigins: new Set([DASHBOARD]),
    token: "right",
    sha256Hex,
    equalSecrets: (one, other) => one === other,
    owners: owner === null ? null : { ownerOf: async () => owner },
    port: () => 8765,
    health: () => ({ status: "ok", version: "0.4.0", started_at: sampleStatus.started_at }),
    state: () => sampleStatus,
    lastDay: () => sampleStatus.last_24_hours,
    store,
    feed: createRecordFeed(),
    counters: createMeteredCounters(),
    prices: () => prices,
    cloud: null,
    clock,
    turn: async () => {},
    onError: () => {},
    ...change,
  };
  const api = createApi(ports);
  const peer = { address: "127.0.0.1", port: 50_000, localAddress: "127.0.0.1", connection: {} };
  return {
    store,
    ports,
    async ask(path, { host = HOST, url = `http://${HOST}`, ...init } = {}) {
      const headers = new Headers(init.headers);
      headers.set("host", host);
      return await api.request(new Request(`${url}${path}`, { ...init, headers }), undefined, { peer });
    },
    clock,
    close: () => store.close(),
  };
}
