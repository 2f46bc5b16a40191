import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { createZlibDecoder } from "../../../adapters/content-decoder/zlib.ts";
import type { ActiveBudget, BookedCall, Budget } from "../../../core/budgets/budget.ts";
import type { BudgetEvent } from "../../../core/budgets/budget-events.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { type BudgetsState, initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import { canRefuse, decideCall } from "../../../core/budgets/decide-call.ts";
import type { LetThrough } from "../../../core/budgets/let-through.ts";
import { headerValue, readRequestHead } from "../../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../../core/metering/exchange/unreadable.ts";
import { createSessionTracker } from "../../../core/metering/sessions/session-tracker.ts";
import { readRequest } from "../../../core/metering/usage/read-request.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { HeldCallBudgets } from "../../../daemon/budgets/held-call-ports.ts";
import { createHeldCalls } from "../../../daemon/budgets/held-calls.ts";
import type { CallQuestion, PassedUses } from "../../../daemon/proxy/call-question.ts";
import type { PassBound } from "../../../daemon/proxy/passes.ts";

export const prices = createPriceBook(loadBundledRates());

/** Budgets in memory, with what calls used by their records. */
export interface MemoryBudgets extends HeldCallBudgets {
  /** The calls that were sent although budgets could not decide on them. */
  readonly sent: (readonly LetThrough[])[];
  /** Books records, as the store does when it has committed them. */
  book(records: readonly RequestRecord[]): void;
}

export const budgetOf = (more: Partial<Budget> = {}): Budget => ({
  name: "cap",
  scope: {},
  unit: "usd",
  limit: 1_000_000_000_000n,
  period: { kind: "total" },
  thresholds: [],
  atLimit: "block",
  onExceed: "finish",
  reserve: false,
  fail: "open",
  coolDownMs: null,
  ...more,
});

/** Creates budgets whose sums are empty and known. */
export function createMemoryBudgets(budgets: readonly Budget[], now: () => number = Date.now): MemoryBudgets {
  let state: BudgetsState = initialBudgetsState;
  const take = (event: BudgetEvent) => {
    const step = budgetTransition(state, event, now());
    state = step.state;
    for (const effect of step.effects)
      if (effect.kind === "load_sums")
        take({ kind: "sums_loaded", budget: effect.budget, key: effect.key, sums: [] });
  };
  const active = budgets.map((budget): ActiveBudget => ({ budget, isPaused: false, liftedUntil: null }));
  take({ kind: "budgets_set", budgets: active });
  const sent: (readonly LetThrough[])[] = [];
  return {
    sent,
    cut: () => {},
    letThrough: (list) => void sent.push(list),
    canRefuse: () => canRefuse(state, now()),
    state: () => state,
    decide: (call) => decideCall(state, call, now()),
    admitted: (call, facts, bound) => take({ kind: "call_admitted", call, facts, bound }),
    refused: (budget, facts) => take({ kind: "call_refused", budget, facts }),
    ended: (call) => take({ kind: "call_ended", call }),
    callsLost: () => take({ kind: "calls_lost" }),
    book: (records) => take({ kind: "calls_booked", added: records.map(toBooked), removed: [] }),
  };
}

function toBooked({
  requestedAt,
  provider,
  model,
  costPicoUsd,
  tokens,
  billingMode,
  project,
  client,
}: RequestRecord): BookedCall {
  const counts = [
    tokens.promptTokens,
    tokens.completionTokens,
    tokens.cacheReadTokens,
    tokens.cacheWriteTokens,
    tokens.thinkingTokens,
  ];
  return {
    at: requestedAt,
    costPicoUsd,
    tokens: counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    facts: {
      provider,
      model,
      billing: billingMode,
      project,
      client,
      session: null,
      agent: null,
      branch: null,
      machine: null,
      person: null,
    },
  };
}

/** The caller of every call. */
export const rigAttribution = {
  project: "rig",
  tier: "header",
  workdir: null,
  client: null,
  bodyCaptureRefused: true,
};

interface RigOptions {
  readonly deployments?: Readonly<Record<string, string>>;
  readonly now?: () => number;
}

/** What is read of a record that was stored. */
type StoredFacts =
  Parameters<ReturnType<typeof createHeldCalls>["stored"]>[0] extends Iterable<infer Facts> ? Facts : never;

/** Returns what is read of the record of a call that was paid by usage. */
export const storedAs = (requestId: string, more: Partial<StoredFacts> = {}): StoredFacts => ({
  ...{ requestId, provider: "anthropic", billingMode: "metered", blockedBy: null, errorClass: null },
  ...more,
});

/** Creates held calls on budgets, for calls to Anthropic on `port` of localhost. */
export function createRigHeldCalls(
  budgets: HeldCallBudgets,
  port: number,
  attribution: Parameters<typeof createHeldCalls>[0]["attribution"] = () => ({
    attribute: async () => rigAttribution,
    known: () => rigAttribution,
  }),
  { deployments = {}, now = Date.now }: RigOptions = {},
) {
  const registry = createRegistry([{ host: "localhost", port, provider: "anthropic", api: "anthropic" }], {
    deployments,
  });
  const tracker = createSessionTracker();
  const heldCalls = createHeldCalls({
    budgets,
    registry,
    prices: () => prices,
    attribution,
    createDecoder: createZlibDecoder,
    now,
    place: { machine: "m", person: null },
    sessions: { resolve: tracker.resolve, begin: (process) => `process ${process}` },
  });
  /** The log shows the whole request of a call that passed. */
  const read = (question: CallQuestion) => {
    const { connection, request, host, head: bytes, body, project } = question;
    const head = readRequestHead(bytes);
    assert.ok(!isUnreadable(head));
    const route = registry.match({ host, port, method: head.method, path: head.target });
    assert.ok(route.kind === "metered");
    const decoded = headerValue(head.headers, "content-encoding") === "gzip" ? gunzipSync(body) : body;
    const facts = readRequest(route, decoded);
    heldCalls.read(connection, request, {
      ...facts,
      head,
      route,
      project,
      attribution: attribution({ clientPort: question.clientPort, proxyUser: null }),
    });
  };
  return { registry, heldCalls, read };
}

/** What a call that passed uses, as a question states it. */
export const usesOf = (
  pass: number,
  { microUsd = Number.NaN, tokens = Number.NaN, body }: Partial<PassBound> & { body?: Uint8Array },
): PassedUses => ({
  bounds: Float64Array.of(pass, microUsd ?? Number.NaN, tokens ?? Number.NaN),
  bodies: new Map(body === undefined ? [] : [[pass, body]]),
});

export const NO_USES: PassedUses = { bounds: new Float64Array(), bodies: new Map() };

/** Creates held calls whose callers become known only with `finishLookups()`. */
export function createSlowHeldCalls(budgets: HeldCallBudgets) {
  let finishLookups = () => {};
  const finished = new Promise<void>((resolve) => {
    finishLookups = resolve;
  });
  const attribute = async () => {
    await finished;
    return rigAttribution;
  };
  return { ...createRigHeldCalls(budgets, 1, () => ({ attribute })), finishLookups };
}
