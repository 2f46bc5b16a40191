import type { Socket } from "node:net";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import type { CallFacts } from "../../core/budgets/budget.ts";
import { parseBudget } from "../../core/budgets/parse-budget.ts";
import { readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import type { Registry } from "../../core/metering/usage/registry.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import { createBudgetTracker } from "../../daemon/budgets/budget-tracker.ts";
import { createHeldCalls } from "../../daemon/budgets/held-calls.ts";
import { createCallBounds } from "../../daemon/proxy/call-bounds.ts";
import { type CallGate, createCallGate } from "../../daemon/proxy/call-gate.ts";
import { createHeldRequests, type HeldRequests } from "../../daemon/proxy/held-requests.ts";
import * as samples from "./samples.ts";

const nothing = () => {};

const stored = { provider: "anthropic", billingMode: "metered", blockedBy: null, errorClass: null } as const;

/** Opens a tracker with a budget of 1,000 USD and no calls so far. */
async function openTracker() {
  const parsed = parseBudget(
    { name: "month", amount: "1000 USD", period: "month", at_limit: "block" },
    { zone: "UTC" },
  );
  if (!parsed.ok) throw new Error(parsed.problem);
  const opened = Promise.resolve();
  const tracker = createBudgetTracker({
    store: {
      trouble: null,
      opened,
      notes: { read: () => null } as never,
      budgets: {
        list: () => [],
        marks: () => [],
        save: nothing,
        remove: () => false,
        mark: nothing,
        actions: () => [],
        warnings: () => [],
        addWarnings: nothing,
        forgetWarnings: nothing,
        calls: () => [],
        sums: () => [],
        version: () => "1",
      },
    },
    configured: [parsed.budget],
    place: {},
    clock: { now: Date.now, setTimer: () => nothing } as never,
    onNotice: nothing,
    onFailure(cause) {
      throw cause;
    },
  });
  await opened;
  await new Promise(setImmediate);
  return tracker;
}

type Tracker = Awaited<ReturnType<typeof openTracker>>;
type Run = (round: number) => void;

/** Opens the two ends of a budget: the gate in the relay and the held calls in the daemon. Throws if the relay asks about a call. */
function openGate(budgets: Tracker, registry: Registry, prices: PriceBook) {
  const heldCalls = createHeldCalls({
    budgets,
    registry,
    prices: () => prices,
    attribution: () => {
      throw new Error("a call was held");
    },
    createDecoder: createZlibDecoder,
    now: Date.now,
    place: {},
    sessions: { resolve: (identity) => identity, begin: () => "bench" },
  });
  const gate = createCallGate(heldCalls.gate(), { asked: 0, refused: 0, undecided: 0, early: 0 }, () => {
    throw new Error("a call was held");
  });
  return { heldCalls, gate };
}

/** Opens a connection whose requests the gate holds. */
function openHeldRequests(gate: CallGate, passed: (request: number, pass: number) => void) {
  return createHeldRequests({
    gate,
    client: { pause: nothing, resume: nothing } as unknown as Socket,
    upstream: { writableNeedDrain: false } as Socket,
    relayLog: {
      entry: { id: 1, lastAtMs: 0, lost: false },
      log: { passed: (_: unknown, request: number, pass: number) => passed(request, pass) } as never,
      caller: null,
      isDraining: () => false,
      blocked: nothing,
      onCut: nothing,
      cut: nothing,
      closed: nothing,
    },
    target: { host: samples.host, port: 443, client: null as never, clientPort: 1, proxyUser: null },
    createInflater: createZlibMessageInflater,
    ...{ forward: nothing, end: nothing, reply: nothing, close: nothing, refuse: nothing, cut: nothing },
  });
}

const exchange = (held: HeldRequests, request: Uint8Array, round: number) => {
  held.push(Buffer.from(request.buffer, request.byteOffset, request.length));
  held.response(samples.responses[round % samples.responses.length] as Buffer);
};

/** The number of calls in flight while decisions are measured, as in `bench:proxy`. */
const CALLS_IN_FLIGHT = 32;

/**
 * Returns the decision on a call while a budget has ample room: the relay checks the remaining room itself, and the daemon counts the call when
 * its record is stored. The bounds of the calls are known.
 */
function decisionStage(budgets: Tracker, registry: Registry, prices: PriceBook): Run {
  const { heldCalls, gate } = openGate(budgets, registry, prices);
  const bound = { microUsd: 1, tokens: 1 };
  let calls = 0;
  return () => {
    calls += 1;
    const pass = gate.pass({
      keptBytes: samples.requestBody.length,
      bound: () => bound,
      body: () => samples.requestBody,
    });
    if (pass === null) throw new Error("there is no room");
    heldCalls.passed(calls, 1, pass);
    heldCalls.began(calls, 1);
    const ended = calls - CALLS_IN_FLIGHT;
    if (ended <= 0) return;
    heldCalls.ended(ended, 1, `record ${ended}`);
    heldCalls.stored([{ ...stored, requestId: `record ${ended}` }]);
  };
}

/** Returns the decision on a call that the relay asks about: the daemon decides, counts it as in flight with its bound, and ends it. */
function askedDecisionStage(budgets: Tracker): Run {
  const facts: CallFacts = {
    ...{ project: "bench", branch: "main", provider: "anthropic", model: "claude-sonnet-4-5" },
    ...{ client: "node", session: null, agent: null, billing: "metered" },
  };
  const bound = { costPicoUsd: 15_000_000_000n, tokens: 1_024 };
  let calls = 0;
  return () => {
    calls += 1;
    if (budgets.decide({ facts, bound, isFinal: true }).kind !== "allow")
      throw new Error("a call was refused");
    budgets.admitted(`${calls}.1`, facts, bound);
    if (calls > CALLS_IN_FLIGHT) budgets.ended(`${calls - CALLS_IN_FLIGHT}.1`);
  };
}

/** Returns the bound of a call, the most that it can use. The relay computes it while other calls are in flight. */
function boundStage(registry: Registry, prices: PriceBook): Run {
  const bounds = createCallBounds(Date.now);
  const [model, target] = ["claude-sonnet-4-5", "/v1/messages"];
  const place = { host: samples.host, port: 443, method: "POST" };
  const route = registry.match({ ...place, path: target });
  if (route.kind !== "metered") throw new Error("the sample is not metered");
  const row = prices.find({ provider: route.provider, model, requestedModel: null, at: Date.now() });
  bounds.learn([{ ...place, target, route, model, row }]);
  const head = readRequestHead(samples.requestHead);
  if (isUnreadable(head)) throw new Error("the sample has no head");
  const call = { ...place, head, body: samples.requestBody };
  return () => void bounds.find(call);
}

/** Returns the division of a held connection's bytes into requests and responses, without a decision. */
function divideStage(budgets: Tracker, registry: Registry, prices: PriceBook): Run {
  const { gate } = openGate(budgets, registry, prices);
  const held = openHeldRequests({ ...gate, pass: () => 1 }, nothing);
  return (round) => exchange(held, samples.request, round);
}

/**
 * Returns everything that a budget with ample room adds to a call: in the relay, which divides requests and responses, and in the daemon, which
 * counts the call. The log, the relay and the record are other stages.
 */
function wholeStage(budgets: Tracker, registry: Registry, prices: PriceBook, request: Uint8Array): Run {
  const { heldCalls, gate } = openGate(budgets, registry, prices);
  const held = openHeldRequests(gate, (number, pass) => heldCalls.passed(1, number, pass));
  let calls = 0;
  return (round) => {
    calls += 1;
    exchange(held, request, round);
    heldCalls.began(1, calls);
    heldCalls.ended(1, calls, "record");
    heldCalls.stored([{ ...stored, requestId: "record" }]);
  };
}

/** Opens the stages of a budget with ample room: its parts, and everything that it adds to a call. */
export async function openBudgetStages(registry: Registry, prices: PriceBook) {
  const budgets = await openTracker();
  return {
    decision: decisionStage(budgets, registry, prices),
    askedDecision: askedDecisionStage(await openTracker()),
    bound: boundStage(registry, prices),
    divide: divideStage(budgets, registry, prices),
    whole: wholeStage(budgets, registry, prices, samples.request),
    large: wholeStage(budgets, registry, prices, samples.largeRequest),
  };
}
