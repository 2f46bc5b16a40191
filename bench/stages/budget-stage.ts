import type { Socket } from "node:net";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import { parseBudget } from "../../core/budgets/parse-budget.ts";
import type { Registry } from "../../core/metering/usage/registry.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import { createBudgetTracker } from "../../daemon/budgets/budget-tracker.ts";
import { createHeldCalls } from "../../daemon/budgets/held-calls.ts";
import { createCallGate } from "../../daemon/proxy/call-gate.ts";
import { createHeldRequests } from "../../daemon/proxy/held-requests.ts";
import * as samples from "./samples.ts";

const nothing = () => {};

/** Opens a tracker that knows its sums: no calls so far, of a budget of 1,000 USD. */
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

/**
 * Returns what a budget with ample room adds to a call: on the proxy's thread, where its requests and responses are divided, and on
 * the main thread, which counts it. The log, the relay and the record are other stages.
 */
export async function passStage(
  registry: Registry,
  prices: PriceBook,
  request: Uint8Array,
): Promise<(round: number) => void> {
  const budgets = await openTracker();
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
  const passed = (_: unknown, number: number, pass: number) => heldCalls.passed(1, number, pass);
  const held = createHeldRequests({
    gate,
    client: { pause: nothing, resume: nothing } as unknown as Socket,
    upstream: { writableNeedDrain: false } as Socket,
    relayLog: {
      entry: { id: 1, lastAtMs: 0, lost: false },
      log: { passed } as never,
      caller: null,
      blocked: nothing,
      onCut: nothing,
      cut: nothing,
      closed: nothing,
    },
    target: { host: samples.host, port: 443, client: null as never, clientPort: 1, proxyUser: null },
    createInflater: createZlibMessageInflater,
    ...{ forward: nothing, end: nothing, reply: nothing, close: nothing, refuse: nothing, cut: nothing },
  });
  let calls = 0;
  return (round) => {
    calls += 1;
    held.push(Buffer.from(request.buffer, request.byteOffset, request.length));
    held.response(samples.responses[round % samples.responses.length] as Buffer);
    heldCalls.began(1, calls);
    heldCalls.ended(1, calls, "record");
    heldCalls.stored([{ requestId: "record" }]);
  };
}
