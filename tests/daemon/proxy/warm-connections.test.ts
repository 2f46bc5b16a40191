import assert from "node:assert/strict";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { createCounters } from "../../../daemon/proxy/counters.ts";
import { createDial, type Dial } from "../../../daemon/proxy/dial.ts";
import { noParentProxies } from "../../../daemon/proxy/parent-proxy.ts";
import { createUpstreamTls } from "../../../daemon/proxy/upstream-tls.ts";
import { createWarmConnections, type WarmHost } from "../../../daemon/proxy/warm-connections.ts";
import { createCleanup, providerRoots } from "./proxy.rig.ts";
import { closed, openProvider } from "./warm.rig.ts";

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** The connections of a machine whose clocks and addresses the test sets, with the dials that they made. */
async function openPool() {
  const provider = await openProvider(cleanup);
  const machine = { monotonicMs: 0, wallMs: 1_000_000, addresses: "192.0.2.1" as string | null };
  const host: WarmHost = {
    monotonicNow: () => machine.monotonicMs,
    wallNow: () => machine.wallMs,
    addresses: () => machine.addresses,
  };
  const upstreamTls = createUpstreamTls(providerRoots, 5_000);
  const dialLocally = createDial({
    ownPorts: new Set(),
    parents: noParentProxies,
    isSharedTarget: () => false,
    timeoutMs: 5_000,
    secureContext: upstreamTls.secureContext,
  });
  const dialled: string[] = [];
  const next: { code: string | null } = { code: null };
  const dial: Dial = (target, purpose, client, done) => {
    dialled.push(client);
    const { code } = next;
    if (code === null) return dialLocally(target, purpose, "local", done);
    process.nextTick(() => done({ ok: false, reason: "upstream_unreachable", code }));
    return () => {};
  };
  const counters = createCounters().warm;
  let networkChanges = 0;
  const pool = createWarmConnections({
    dial,
    upstreamTls,
    counters,
    host,
    onNetworkChanged: () => {
      networkChanges += 1;
    },
  });
  let isOver = false;
  cleanup.add(() => {
    isOver = true;
    pool.close();
  });
  const target = { host: "localhost", port: provider.port };
  const until = async (isReached: () => boolean) => {
    while (!isReached() && !isOver) await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = (ms: number) => {
    machine.monotonicMs += ms;
    machine.wallMs += ms;
  };
  /** Waits until so many connections are ready, for the provider too. */
  const untilReady = (ready: number, accepted = ready) =>
    until(() => counters.ready === ready && provider.accepted.length >= accepted);
  const changes = () => networkChanges;
  return { pool, provider, machine, counters, dialled, next, target, until, untilReady, pass, changes };
}

describe("createWarmConnections()", () => {
  it("replaces a connection before it is too old, and keeps none without calls", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { pool, provider, counters, target, untilReady, pass } = await openPool();
    pool.connected(target, "local");
    for (let round = 1; round <= 6; round += 1) {
      await untilReady(1, round);
      const spare = provider.accepted.at(-1);
      pass(20_000);
      t.mock.timers.tick(20_000);
      await closed(spare?.socket);
      assert.equal(counters.unused, round);
    }
    assert.deepEqual([counters.ready, provider.accepted.length], [0, 6]);
    assert.equal(pool.take(target, "local"), null);
    assert.deepEqual([counters.missed, counters.used], [0, 0]);
  });

  for (const [name, change] of [
    ["gets another address", { addresses: "198.51.100.1" }],
    ["slept, as its clocks tell", { wallMs: 1_030_000 }],
  ] as const) {
    it(`closes all connections when the machine ${name}, and dials none before the next call`, async () => {
      const { pool, provider, machine, counters, target, untilReady, pass, changes } = await openPool();
      pool.connected(target, "local");
      await untilReady(1);
      Object.assign(machine, change);
      pass(500);
      assert.equal(pool.take(target, "local"), null);
      await closed(provider.accepted[0]?.socket);
      assert.deepEqual([counters.ready, changes(), provider.accepted.length], [0, 1, 1]);
      pool.connected(target, "local");
      await untilReady(1);
      assert.ok(pool.take(target, "local")?.claim());
    });
  }

  it("looks at the machine's network every two seconds while it keeps connections", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { pool, machine, counters, target, untilReady, changes } = await openPool();
    t.mock.timers.tick(2_000);
    pool.connected(target, "local");
    await untilReady(1);
    t.mock.timers.tick(2_000);
    assert.equal(changes(), 0);
    machine.addresses = null;
    t.mock.timers.tick(2_000);
    assert.deepEqual([counters.ready, changes()], [1, 0], "they can't be read, which is no change");
    machine.addresses = "";
    t.mock.timers.tick(1_999);
    assert.equal(counters.ready, 1);
    t.mock.timers.tick(1);
    assert.deepEqual([counters.ready, changes()], [0, 1]);
  });

  it("treats a dial that fails because of the network as a change of it, and one that was answered as the host's failure", async () => {
    for (const [code, ready] of [
      ["ENETUNREACH", 0],
      ["ECONNREFUSED", 1],
      ["PARENT_PROXY_503", 1],
    ] as const) {
      const { pool, counters, next, target, until, untilReady } = await openPool();
      pool.connected(target, "local");
      await untilReady(1);
      next.code = code;
      pool.connected({ host: "other.localhost", port: 1 }, "local");
      await until(() => counters.failed === 1);
      assert.equal(counters.ready, ready, code);
    }
  });

  it("gives clients on other machines only connections that were dialled for such clients", async () => {
    const { pool, dialled, target, untilReady } = await openPool();
    pool.connected(target, "local");
    await untilReady(1);
    assert.equal(pool.take(target, "remote"), null);
    pool.connected(target, "remote");
    await untilReady(2);
    assert.ok(pool.take(target, "remote")?.claim());
    assert.deepEqual(dialled, ["local", "remote", "remote"]);
  });

  it("keeps no connection that was lost or discarded", async () => {
    const { pool, provider, target, until, untilReady } = await openPool();
    pool.connected(target, "local");
    await untilReady(1);
    const lost = pool.take(target, "local");
    let calls = 0;
    assert.ok(lost !== null && !lost.isLost);
    lost.onLost = () => {
      calls += 1;
    };
    provider.accepted[0]?.socket.end();
    await until(() => lost.isLost);
    assert.deepEqual([lost.claim(), calls], [null, 1]);
    await untilReady(1);
    const discarded = pool.take(target, "local");
    discarded?.discard();
    assert.equal(discarded?.claim(), null);
  });

  it("keeps none after close()", async () => {
    const { pool, provider, counters, target, untilReady } = await openPool();
    pool.connected(target, "local");
    await untilReady(1);
    pool.connected({ host: "localhost", port: 1 }, "local"); // being dialled
    pool.close();
    await closed(provider.accepted[0]?.socket);
    pool.connected(target, "local");
    assert.equal(pool.take(target, "local"), null);
    assert.equal(counters.ready, 0);
  });
});
