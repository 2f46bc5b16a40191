import { createUndecidedRefusal, formatRefusalResponse } from "../../core/budgets/refusal/create-refusal.ts";
import { recogniseApi } from "../../core/metering/coverage/unlisted-hosts.ts";
import { type RequestHead, readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import {
  type CallBounds,
  type CallToPass,
  createCallBounds,
  type KnownPricing,
  UNKNOWN_BOUND,
} from "./call-bounds.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "./call-question.ts";
import type { GateCounters } from "./counters.ts";
import {
  createPasses,
  openThreadMemory,
  type PassBound,
  type PassedCall,
  type Passes,
  type PassMemory,
} from "./passes.ts";

/** How calls are held while a budget that blocks is set. */
export interface GateConfig {
  /** What happens to a call without a decision in time. */
  readonly fail: "open" | "closed";
  /** How long a call waits for its decision, in milliseconds. */
  readonly timeoutMs: number;
  /** The budgets are still being read. Calls wait until the gate is configured, and are then asked about. */
  readonly isProvisional?: boolean;
  /** The memory for calls that pass without a decision (`openThreadMemory()`), if the relay was not started with other memory. */
  readonly passes?: SharedArrayBuffer;
  /** The pricing of the calls that were decided on last, so that the relay can bound further ones like them. */
  readonly pricing?: readonly KnownPricing[];
}

/** Holds calls until the main thread has decided on them. */
export interface CallGate {
  /** Null while no budget blocks, so that calls are not held. */
  readonly config: GateConfig | null;
  configure(config: GateConfig | null): void;
  /** Lets a call go without a decision if there is ample room, and returns its number. Null: it must be asked about. */
  pass(call: PassedCall): number | null;
  /** Returns what a call can use at most. */
  bound(call: CallToPass): PassBound;
  /**
   * Asks for a decision. `done` is called once, in a later turn of the event loop; the returned function prevents that. Without `bound`,
   * the call can use anything.
   */
  ask(question: CallQuestion, done: (answer: GateAnswer) => void, bound?: () => PassBound): () => void;
  /** Takes the main thread's answer. */
  answered(id: number, answer: GateAnswer): void;
}

interface GateState {
  config: GateConfig | null;
  lastId: number;
  readonly waiting: Map<number, (answer: GateAnswer) => void>;
  /** The questions among them that wait for the gate to be configured. */
  readonly unasked: Map<number, CallQuestion>;
  readonly counters: GateCounters;
  /** How many of `counters.early` were sent since the gate became provisional. */
  wentEarly: number;
  readonly post: PostQuestion;
  readonly sentLate: (question: CallQuestion) => void;
  /** Stay the same while the thread runs, as their memory does. Null: there is no memory, so each call waits for a decision. */
  passes: Passes | null;
  readonly bounds: CallBounds;
}

/** Sends a question to the main thread. `passed` are the calls that must be counted before it is decided; null if there are none. */
type PostQuestion = (id: number, question: CallQuestion, passed: PassedUses | null) => void;

const ALLOWED: GateAnswer = { kind: "allow" };

/** How much of a body is held at most before the decision, in bytes. */
export const MAX_HELD_BODY_BYTES = 1_048_576;

/**
 * Creates the gate. `sentLate` is told of each call that was asked about and sent because the answer came too late. Without `memory`, the
 * configuration has it.
 */
export function createCallGate(
  config: GateConfig | null,
  counters: GateCounters,
  post: PostQuestion,
  sentLate: (question: CallQuestion) => void = () => {},
  memory: PassMemory | null = null,
): CallGate {
  const bounds = createCallBounds(Date.now);
  bounds.learn(config?.pricing ?? []);
  const state: GateState = {
    ...{ config, counters, post, sentLate, bounds },
    passes: memory === null ? passesOf(config) : createPasses(memory),
    ...{ lastId: 0, waiting: new Map(), unasked: new Map(), wentEarly: 0 },
  };
  return {
    get config() {
      return state.config;
    },
    configure: (next) => configure(state, next),
    pass: (call) => state.passes?.begin(call) ?? null,
    bound: bounds.find,
    ask: (question, done, bound = () => UNKNOWN_BOUND) => ask(state, question, done, bound),
    answered(id, answer) {
      state.waiting.get(id)?.(answer);
    },
  };
}

const passesOf = (config: GateConfig | null): Passes | null =>
  config?.passes === undefined ? null : createPasses(openThreadMemory(config.passes));

function configure(state: GateState, next: GateConfig | null): void {
  const { unasked, waiting, counters } = state;
  state.config = next;
  state.bounds.learn(next?.pricing ?? []);
  state.passes ??= passesOf(next);
  if (next?.isProvisional === true) return;
  // Without a budget that blocks, there was nothing to decide.
  if (next === null) {
    counters.undecided -= state.wentEarly;
    counters.early -= state.wentEarly;
  }
  state.wentEarly = 0;
  for (const [id, question] of unasked) {
    unasked.delete(id);
    if (next === null) waiting.get(id)?.(ALLOWED);
    else post(state, id, question);
  }
}

function post(state: GateState, id: number, question: CallQuestion): void {
  state.counters.asked += 1;
  state.post(id, question, state.passes?.uncounted() ?? null);
}

function ask(
  state: GateState,
  question: CallQuestion,
  done: (answer: GateAnswer) => void,
  bound: () => PassBound,
): () => void {
  const { waiting, counters, config } = state;
  state.lastId += 1;
  const id = state.lastId;
  const release = state.passes?.wait(bound);
  const settle = () => {
    clearTimeout(timer);
    release?.();
    waiting.delete(id);
    state.unasked.delete(id);
  };
  // The answer may have arrived while this thread was busy: messages are read before immediates.
  const onTimeout = () =>
    setImmediate(() => {
      if (!waiting.has(id)) return;
      const wasAsked = !state.unasked.has(id);
      settle();
      if (config?.fail !== "closed") {
        counters.undecided += 1;
        if (wasAsked) state.sentLate(question);
        else {
          state.wentEarly += 1;
          counters.early += 1;
        }
        return done(ALLOWED);
      }
      counters.refused += 1;
      done({ kind: "refuse", answer: undecidedAnswer(question), budget: null });
    });
  const timer = setTimeout(onTimeout, config?.timeoutMs ?? 0);
  waiting.set(id, (answer) => {
    settle();
    if (answer.kind === "refuse") counters.refused += 1;
    done(answer);
  });
  if (config?.isProvisional === true) state.unasked.set(id, question);
  else post(state, id, question);
  return settle;
}

function undecidedAnswer({ head, isTurn }: CallQuestion): Uint8Array {
  const request = readRequestHead(head);
  const { method, target, headers }: Pick<RequestHead, "method" | "target" | "headers"> = isUnreadable(
    request,
  )
    ? { method: "POST", target: "/", headers: [] }
    : request;
  const refusal = createUndecidedRefusal(recogniseApi(method, target), { headers, program: null });
  if (!isTurn) return formatRefusalResponse(refusal, method);
  const message = { type: "error", status: 400, ...(JSON.parse(refusal.body) as object) };
  return new TextEncoder().encode(JSON.stringify(message));
}

/** Whether a request may cost something: it sends data, or opens a WebSocket. */
export function isHeld({ method }: RequestHead, switchesProtocol: boolean): boolean {
  return (
    method === "POST" || method === "PUT" || method === "PATCH" || (switchesProtocol && method === "GET")
  );
}
