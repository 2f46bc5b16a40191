import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { boundCall } from "../../../core/budgets/bound/bound-call.ts";
import type { Budget } from "../../../core/budgets/budget.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { noParentProxies } from "../../../daemon/proxy/parent-proxy.ts";
import { startProxy } from "../../../daemon/proxy/start-proxy.ts";
import { tapClock } from "../../../daemon/proxy/tap-clock.ts";
import { createCaptureRig } from "../capture/capture.rig.ts";
import {
  collect,
  createCleanup,
  listenTls,
  meterAuthority,
  providerRoots,
  tlsThrough,
} from "../proxy/proxy.rig.ts";
import {
  budgetOf,
  createMemoryBudgets,
  createRigHeldCalls,
  prices,
  rigAttribution,
} from "./held-calls.rig.ts";

const CALLS = 100;

/** Longer than the test runs, in milliseconds. */
const PATIENCE_MS = 600_000;
const MODEL = "claude-sonnet-4-5";
const body = JSON.stringify({
  model: MODEL,
  max_tokens: 100,
  messages: [{ role: "user", content: "hello ".repeat(100) }],
});

/** The bound of each call, which is also what it costs here: the provider states the most that it can. */
const { costPicoUsd: bound } = boundCall(
  {
    route: { api: "anthropic.messages", provider: "anthropic", model: null, requestKind: "chat" },
    body: Buffer.from(body),
    bodyBytes: body.length,
    at: Date.now(),
  },
  prices,
);
const written = body.length + 8_192;
const usage = {
  input_tokens: 0,
  cache_creation_input_tokens: written,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: written },
  output_tokens: 100,
};
const answer = JSON.stringify({ type: "message", model: MODEL, usage });

/** Sends all calls at once through a proxy with the budget, again until all are refused. Returns the records. */
async function spendAll(
  budget: Budget,
): Promise<{ records: RequestRecord[]; refused: number; leaked: number; asked: number }> {
  const cleanup = createCleanup();
  const port = await listenTls(cleanup, (socket) => {
    socket.on("data", () => {});
    // The answers overlap, as those of models do.
    socket.once("data", () =>
      setTimeout(
        () =>
          socket.end(
            `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`,
          ),
        50,
      ),
    );
  });
  const budgets = createMemoryBudgets([budget]);
  const { registry, heldCalls } = createRigHeldCalls(budgets, port);
  const records: RequestRecord[] = [];
  const add = (record: RequestRecord) => {
    records.push(record);
    // The store commits once per turn.
    setImmediate(() => {
      if (record.blockedBy === null) budgets.book([record]);
      heldCalls.stored([record]);
    });
  };
  const { capture } = createCaptureRig({
    ports: {
      registry,
      heldCalls,
      monotonicMs: tapClock,
      wallClockMs: Date.now,
      records: { add, attribute() {} },
      attribution: () => ({ attribute: async () => rigAttribution, known: () => rigAttribution }),
    },
  });
  const proxy = await startProxy(
    {
      ...{ host: "127.0.0.1", port: 0, ownPorts: [], providerHosts: ["localhost"], gatewayRoutes: [] },
      ...{
        authority: meterAuthority,
        roots: providerRoots,
        parentProxies: noParentProxies,
        proxyPassword: null,
      },
      ownUid: process.geteuid?.(),
      // A busy machine must not decide: neither on calls, nor on which connections are too slow.
      limits: {
        firstByteTimeoutMs: PATIENCE_MS,
        headTimeoutMs: PATIENCE_MS,
        connectTimeoutMs: PATIENCE_MS,
        handshakeTimeoutMs: PATIENCE_MS,
      },
      gate: { ...(heldCalls.gate() ?? assert.fail()), timeoutMs: PATIENCE_MS },
    },
    { frames: capture.frames, event() {}, decide: heldCalls.decide },
  );
  cleanup.add(() => proxy.stop(0));
  const call = async () => {
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    client.write(
      `POST /v1/messages HTTP/1.1\r\nHost: localhost:${port}\r\nX-Api-Key: sk-ant-api03-x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await got.end();
    client.destroy();
    return got.bytes().toString("latin1", 9, 12);
  };
  try {
    let refused = 0;
    // The first call comes alone: without reservations, it passes before the first question.
    for (let calls = 1, admitted = -1; admitted !== 0; calls = CALLS) {
      const statuses = await Promise.all(Array.from({ length: calls }, call));
      assert.deepEqual(
        [...new Set(statuses)].filter((status) => status !== "200" && status !== "429"),
        [],
      );
      admitted = statuses.filter((status) => status === "200").length;
      refused += calls - admitted;
      // All records of the round are booked.
      await proxy.ping(PATIENCE_MS);
      await capture.settled();
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
    assert.equal(proxy.counters().gate.undecided, 0);
    const { asked } = proxy.counters().gate;
    return { records, refused, leaked: budgets.state().calls.length, asked };
  } finally {
    await cleanup.run();
  }
}

describe(`${CALLS} calls at once against a cap`, () => {
  const cap = (bound ?? 0n) * 20n + (bound ?? 0n) / 2n;

  for (const reserve of [false, true]) {
    it(`end ${reserve ? "below it with reservations" : "above it by at most one call without reservations"}`, async (context) => {
      const { records, refused, leaked, asked } = await spendAll(budgetOf({ limit: cap, reserve }));
      const spent = records.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n);
      const sent = records.filter(({ blockedBy }) => blockedBy === null).length;
      const usd = (amount: bigint) => `${Number(amount / 1_000_000n) / 1e6} USD`;
      context.diagnostic(
        `cap ${usd(cap)}, spent ${usd(spent)} in ${sent} calls of at most ${usd(bound ?? 0n)}; ${refused} refused`,
      );
      assert.equal(leaked, 0);
      // Only without reservations, some calls passed before the first question.
      const passed = records.length - asked;
      assert.ok(reserve ? passed === 0 : passed > 0, `${passed} calls passed without a decision`);
      assert.equal(records.length - sent, refused);
      assert.equal(spent, BigInt(sent) * (bound ?? 0n));
      if (reserve) assert.ok(spent <= cap && cap - spent < (bound ?? 0n));
      else assert.ok(spent > cap && spent - cap <= (bound ?? 0n));
    });
  }
});
