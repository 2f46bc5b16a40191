import type { RequestRecord } from "../../core/values/record.ts";
import type { HeldCallEvents } from "../capture/ports.ts";
import type { GateConfig } from "../proxy/call-gate.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "../proxy/call-question.ts";
import type { RestOfBody } from "../proxy/long-questions.ts";
import { createPassCounts, createThreadMemory, openThreadMemory, type PassMemory } from "../proxy/passes.ts";
import type { CutOrder } from "../proxy/response-cut.ts";
import { beginCall, callId, endCall, endConnection, forgetCalls, storeCalls } from "./calls-in-flight.ts";
import { listCuts } from "./cut-calls.ts";
import {
  countLate,
  type DecidingState,
  decideHeldCall,
  forgetCaller,
  forgetDecisions,
  showDeciding,
} from "./decide-held-call.ts";
import type { HeldCallPorts } from "./held-call-ports.ts";
import { addPass, readPass, settlePasses } from "./passed-calls.ts";
import { createPlanCredits, type PlanCredits } from "./plan-credits.ts";
import { listPricing } from "./priced-calls.ts";
import { DECISION_TIMEOUT_MS } from "./provisional-gate.ts";
import { warmUpDecisions } from "./warm-up.ts";

/** What is read of a record that was stored. */
type StoredFacts = Pick<RequestRecord, "requestId" | "provider" | "billingMode" | "blockedBy" | "errorClass">;

/** Decides on calls that the proxy holds, and counts those that it admitted as in flight until they are stored. */
export interface HeldCalls extends HeldCallEvents {
  /**
   * Decides once the calls that passed are counted: those of `passed`, and of earlier questions. Null: it need not wait for any. With `rest`,
   * the question has only the start of its body, or nothing of it.
   */
  decide(
    question: CallQuestion,
    answer: (answer: GateAnswer) => void,
    passed?: PassedUses | null,
    rest?: RestOfBody | null,
  ): void;
  /** The call was sent because its decision came too late. */
  sentLate(connection: number, request: number): void;
  /** Records were stored and are part of the budgets' sums. */
  stored(records: readonly StoredFacts[]): void;
  /** The proxy's thread has ended, and all calls with it. */
  lost(): void;
  /** Returns orders for the calls that budgets end now, each once. */
  cuts(): readonly CutOrder[];
  /** How the proxy must hold calls now; null if no budget can refuse one. Also updates how many may pass. */
  gate(): GateConfig | null;
}

export function createHeldCalls(ports: HeldCallPorts): HeldCalls {
  const threadMemory = ports.passMemory === undefined ? createThreadMemory() : null;
  const passMemory =
    threadMemory === null ? (ports.passMemory as PassMemory) : openThreadMemory(threadMemory);
  const credits = createPlanCredits(ports.now);
  const state = createState(ports, passMemory, credits.isOnCredits);
  const gate = createGate(ports, state, threadMemory);
  return {
    decide: (question, answer, passed = null, rest = null) =>
      decideHeldCall(state, question, answer, passed, rest),
    passed: (connection, request, number) =>
      addPass(state, callId(connection, request), connection, request, number),
    read: (connection, request, call) => readPass(state, callId(connection, request), call),
    sentLate: (connection, request) => countLate(state, callId(connection, request)),
    began(connection, request) {
      const id = callId(connection, request);
      showDeciding(state, id, "begin");
      beginCall(state, connection, id);
    },
    ended(connection, request, requestId) {
      const id = callId(connection, request);
      showDeciding(state, id, "end");
      endCall(state, id, requestId);
    },
    stored(records) {
      for (const record of records) credits.note(record);
      storeCalls(state, records);
    },
    closed(connection) {
      forgetCaller(state, connection);
      endConnection(state, connection);
    },
    lost() {
      forgetDecisions(state);
      forgetCalls(state);
      ports.budgets.callsLost();
      state.passCounts.reset();
    },
    cuts: () => listCuts(state),
    cut: ports.budgets.cut,
    gate,
  };
}

function createState(
  ports: HeldCallPorts,
  passMemory: PassMemory,
  isOnCredits: PlanCredits["isOnCredits"],
): DecidingState {
  return {
    ...ports,
    isOnCredits,
    attributions: new Map(),
    deciding: new Map(),
    decided: [],
    nextDecided: 0,
    admitted: new Map(),
    shown: new Set(),
    unstored: new Map(),
    cutTargets: new Map(),
    passes: new Map(),
    counting: new Map(),
    passCounts: createPassCounts(passMemory),
    priced: new Map(),
  };
}

/** Returns `HeldCalls.gate()`. `threadMemory` is the memory for calls that pass, if the relay gets it with the gate. */
function createGate(
  { budgets }: HeldCallPorts,
  state: DecidingState,
  threadMemory: SharedArrayBuffer | null,
): HeldCalls["gate"] {
  /** Whether the code that decides has run. */
  let isWarm = false;
  return () => {
    if (!budgets.canRefuse()) return null;
    settlePasses(state, []);
    if (!isWarm) warmUpDecisions(state);
    isWarm = true;
    const isClosed = budgets
      .state()
      .budgets.some(({ active: { budget } }) => budget.atLimit === "block" && budget.fail === "closed");
    return {
      ...{ fail: isClosed ? "closed" : "open", timeoutMs: DECISION_TIMEOUT_MS },
      ...(threadMemory !== null && { passes: threadMemory }),
      ...(state.priced.size > 0 && { pricing: listPricing(state) }),
    };
  };
}
