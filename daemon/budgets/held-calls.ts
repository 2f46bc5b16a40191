import { type CallFacts, type CallUse, matchesScope } from "../../core/budgets/budget.ts";
import { RESERVATION_TIMEOUT_MS } from "../../core/budgets/budget-machine.ts";
import type { BudgetsState } from "../../core/budgets/budget-state.ts";
import { callsToCut, mayCut } from "../../core/budgets/calls-to-cut.ts";
import {
  type CallDecision,
  type CallRefused,
  type CallToDecide,
  isBlocking,
} from "../../core/budgets/decide-call.ts";
import type { LetThrough } from "../../core/budgets/let-through.ts";
import { createCut } from "../../core/budgets/refusal/create-cut.ts";
import { type RequestHead, readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { joinBytes } from "../../core/values/join-bytes.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CallAttribution, ConnectionAttribution, HeldCallEvents } from "../capture/ports.ts";
import type { GateConfig } from "../proxy/call-gate.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "../proxy/call-question.ts";
import type { RestOfBody } from "../proxy/long-questions.ts";
import { createPassCounts, createThreadMemory, openThreadMemory, type PassMemory } from "../proxy/passes.ts";
import type { CutOrder } from "../proxy/response-cut.ts";
import {
  attributeCall,
  type CallSources,
  callerFacts,
  completeFacts,
  describeCall,
  formatAnswer,
  hasTurns,
  type KnownCall,
  knownAttribution,
  matchRoute,
  readBody,
  readStart,
  readTurn,
} from "./describe-held-call.ts";
import {
  addPass,
  countPasses,
  type PassedState,
  type PassingCall,
  readPass,
  settlePasses,
} from "./passed-calls.ts";
import { createPlanCredits, type PlanCredits } from "./plan-credits.ts";
import { listPricing, notePricing, type PricedState } from "./priced-calls.ts";
import { DECISION_TIMEOUT_MS } from "./provisional-gate.ts";
import { warmUpDecisions } from "./warm-up.ts";

/** The budgets, as far as held calls need them. */
export interface HeldCallBudgets {
  canRefuse(): boolean;
  state(): BudgetsState;
  decide(call: CallToDecide): CallDecision;
  /** The call is sent. It counts with its bound until `ended()`. */
  admitted(call: string, facts: CallFacts, bound: CallUse): void;
  refused(budget: string, facts: CallFacts): void;
  /** The call was sent although these budgets could not decide on it. */
  letThrough(budgets: readonly LetThrough[]): void;
  /** The budget ended a call that was under way. */
  cut(budget: string): void;
  /** The call's record is part of the sums, or it has none. Repeatable. */
  ended(call: string): void;
  callsLost(): void;
}

/** The ports of the decision on held calls. */
export interface HeldCallPorts extends Omit<CallSources, "isOnCredits"> {
  readonly budgets: HeldCallBudgets;
  /** The memory for calls that pass without a decision, which the relay has too. Default: memory for a thread of this process. */
  readonly passMemory?: PassMemory;
  attribution(connection: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
    readonly caller?: NonNullable<CallQuestion["caller"]>;
  }): ConnectionAttribution;
}

/** What is read of a record that was stored. */
type StoredFacts = Pick<RequestRecord, "requestId" | "provider" | "billingMode" | "blockedBy" | "errorClass">;

/** Decides on calls that the proxy holds, and counts those that it admitted as in flight until they are stored. */
export interface HeldCalls extends HeldCallEvents {
  /**
   * Decides once the calls that passed are counted: those of `passed`, and of earlier questions. Null: it need not wait for any. With `rest`,
   * the question has only the start of its body.
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
  stored(records: Iterable<StoredFacts>): void;
  /** The proxy's thread has ended, and all calls with it. */
  lost(): void;
  /** Returns orders for the calls that budgets end now, each once. */
  cuts(): readonly CutOrder[];
  /** How the proxy must hold calls now; null if no budget can refuse one. Also updates how many may pass. */
  gate(): GateConfig | null;
}

const ALLOWED: GateAnswer = { kind: "allow" };

/** The most attributions that are kept for later calls on their connections. */
const MAX_ATTRIBUTIONS = 4_096;

interface HeldState extends HeldCallPorts, PassedState, PricedState {
  readonly budgets: HeldCallBudgets;
  /** By connection. */
  readonly attributions: Map<number, ConnectionAttribution>;
  /** The calls that wait for a look-up. */
  readonly deciding: Map<string, DecidingCall>;
  /** The calls in flight that a budget may end, by their id. */
  readonly cutTargets: Map<string, CutTarget>;
  /** The latest decisions, of which the proxy may state that they came too late; and where the next one is put. */
  readonly decided: { readonly id: string; readonly facts: CallFacts; readonly isCounted: boolean }[];
  nextDecided: number;
  /** The admitted calls that the log has not shown yet, by connection; and those that it has shown. */
  readonly admitted: Map<number, Set<string>>;
  readonly shown: Set<string>;
  /** The calls whose records are not stored yet, by the id of the record, in the order in which they ended. */
  readonly unstored: Map<string, UnstoredCall>;
  readonly credits: PlanCredits;
  /** Whether the code that decides has run. */
  isWarm: boolean;
}

interface UnstoredCall {
  readonly call: string;
  readonly endedAt: Millis;
}

/** What is needed to end a call. */
interface CutTarget
  extends Pick<CallQuestion, "connection" | "request">,
    Pick<KnownCall, "head" | "route" | "turn"> {
  readonly program: string | null;
}

interface DecidingCall {
  readonly connection: number;
  /** What the log has shown of it: a call that waits too long is sent undecided. */
  shown: "nothing" | "begin" | "end";
  isSent: boolean;
  /** What is known so far. */
  call: KnownCall | null;
}

/** How many decisions are kept. */
const MAX_DECIDED = 64;

export function createHeldCalls(ports: HeldCallPorts): HeldCalls {
  const threadMemory = ports.passMemory === undefined ? createThreadMemory() : null;
  const passMemory =
    threadMemory === null ? (ports.passMemory as PassMemory) : openThreadMemory(threadMemory);
  const credits = createPlanCredits(ports.now);
  const state: HeldState = {
    ...{ ...ports, credits, isOnCredits: credits.isOnCredits },
    attributions: new Map(),
    deciding: new Map(),
    cutTargets: new Map(),
    ...{ decided: [], nextDecided: 0 },
    admitted: new Map(),
    shown: new Set(),
    unstored: new Map(),
    passes: new Map(),
    counting: new Map(),
    passCounts: createPassCounts(passMemory),
    priced: new Map(),
    isWarm: false,
  };
  return {
    decide: (question, answer, passed = null, rest = null) =>
      decideAfter(state, question, answer, passed, rest),
    passed: (connection, request, number) =>
      addPass(state, callId(connection, request), connection, request, number),
    read: (connection, request, call) => readPass(state, callId(connection, request), call),
    sentLate: (connection, request) => countLate(state, callId(connection, request)),
    began(connection, request) {
      const id = callId(connection, request);
      const pass = state.passes.get(id);
      if (pass !== undefined) pass.hasBegun = true;
      const deciding = state.deciding.get(id);
      if (deciding !== undefined) deciding.shown = "begin";
      if (state.admitted.get(connection)?.delete(id) === true) state.shown.add(id);
    },
    ended: (connection, request, requestId) => endCall(state, connection, request, requestId),
    stored: (records) => storeCalls(state, records),
    closed: (connection) => closeConnection(state, connection),
    lost() {
      const { attributions, deciding, admitted, shown, unstored, passes, counting, cutTargets } = state;
      cutTargets.clear();
      state.decided.length = 0;
      state.nextDecided = 0;
      for (const calls of [attributions, deciding, admitted, shown, unstored, passes, counting])
        calls.clear();
      ports.budgets.callsLost();
      state.passCounts.reset();
    },
    cuts: () => listCuts(state),
    cut: ports.budgets.cut,
    gate() {
      if (!ports.budgets.canRefuse()) return null;
      settlePasses(state, []);
      if (!state.isWarm) warmUpDecisions(state);
      state.isWarm = true;
      const isClosed = ports.budgets
        .state()
        .budgets.some(({ active: { budget } }) => budget.atLimit === "block" && budget.fail === "closed");
      return {
        ...{ fail: isClosed ? "closed" : "open", timeoutMs: DECISION_TIMEOUT_MS },
        ...(threadMemory !== null && { passes: threadMemory }),
        ...(state.priced.size > 0 && { pricing: listPricing(state) }),
      };
    },
  };
}

function storeCalls(state: HeldState, records: Iterable<StoredFacts>): void {
  const { unstored } = state;
  const calls: string[] = [];
  for (const record of records) {
    state.credits.note(record);
    const { requestId } = record;
    const call = unstored.get(requestId)?.call;
    if (call === undefined) continue;
    unstored.delete(requestId);
    calls.push(call);
  }
  endCalls(state, calls);
}

/** Ends calls that wait for nothing more. */
function endCalls(state: HeldState, calls: readonly string[]): void {
  // A call that passed and was not counted is not in flight.
  for (const call of calls) if (!state.passes.has(call)) state.budgets.ended(call);
  settlePasses(state, calls);
}

/** Ends calls whose records were dropped: they are not stored even when the budgets no longer count their calls as in flight. */
function endDropped(state: HeldState): void {
  const calls: string[] = [];
  for (const [requestId, { call, endedAt }] of state.unstored) {
    if (Math.abs(state.now() - endedAt) < RESERVATION_TIMEOUT_MS) break;
    state.unstored.delete(requestId);
    calls.push(call);
  }
  if (calls.length > 0) endCalls(state, calls);
}

function closeConnection(state: HeldState, connection: number): void {
  const { attributions, deciding, admitted, passes, budgets } = state;
  attributions.delete(connection);
  for (const each of deciding.values()) if (each.connection === connection) each.shown = "end";
  for (const call of admitted.get(connection) ?? []) budgets.ended(call);
  admitted.delete(connection);
  if (passes.size === 0) return;
  const open = [...passes].filter(([, pass]) => pass.connection === connection && !pass.isRecorded);
  settlePasses(
    state,
    open.map(([id]) => id),
  );
}

function decideAfter(
  state: HeldState,
  question: CallQuestion,
  answer: (answer: GateAnswer) => void,
  passed: PassedUses | null,
  rest: RestOfBody | null,
): void {
  const { connection, request } = question;
  const deciding: DecidingCall = { connection, shown: "nothing", isSent: false, call: null };
  state.deciding.set(callId(connection, request), deciding);
  if (passed !== null)
    countPasses(state, passed, (id, pass, call, found) => admitPass(state, id, pass, call, found));
  // Those of earlier questions may still wait.
  if (passed === null || state.counting.size === 0) return decide(state, question, answer, rest);
  void Promise.all(state.counting.values()).then(() => decide(state, question, answer, rest));
}

function admitPass(
  state: HeldState,
  id: string,
  { connection, hasBegun, isRecorded }: PassingCall,
  call: KnownCall,
  attribution: CallAttribution | null,
): void {
  const { facts, program } = completeFacts(state, call, attribution);
  countCall(state, id, call, facts, program);
  // A recorded call ends when its record is stored.
  if (!isRecorded) {
    if (hasBegun) state.shown.add(id);
    else admit(state, connection, id);
  }
  settlePasses(state, [id]);
}

/** Counts a call as in flight, and keeps what is needed to end it if a budget may. */
function countCall(
  { budgets, cutTargets }: HeldState,
  id: string,
  { question, turn, head, route, bound }: KnownCall,
  facts: CallFacts,
  program: string | null,
): void {
  budgets.admitted(id, facts, bound);
  const { connection, request } = question;
  if (mayCut(budgets.state()))
    cutTargets.set(id, {
      connection,
      request,
      turn,
      head,
      route,
      program,
    });
}

/** Returns orders for the calls to end. One that has a response, and only waits to be stored, is not ended. */
function listCuts({ budgets, cutTargets, unstored, now }: HeldState): CutOrder[] {
  if (cutTargets.size === 0) return [];
  const { calls } = budgets.state();
  const inFlight = new Set(calls.map(({ id }) => id));
  for (const id of cutTargets.keys()) if (!inFlight.has(id)) cutTargets.delete(id);
  const stored = new Set([...unstored.values()].map(({ call }) => call));
  return callsToCut(budgets.state(), now()).flatMap(({ call, facts }) => {
    const known = stored.has(call.id) ? undefined : cutTargets.get(call.id);
    if (known === undefined) return [];
    cutTargets.delete(call.id);
    const { connection, request, head, route, program, turn } = known;
    const { headers, method } = head;
    return [
      {
        connection,
        request,
        budget: facts.budget,
        ...createCut(route, { headers, program }, facts, { method, turn }),
      },
    ];
  });
}

function admit({ admitted }: HeldState, connection: number, id: string): void {
  const calls = admitted.get(connection);
  if (calls === undefined) admitted.set(connection, new Set([id]));
  else calls.add(id);
}

function decide(
  state: HeldState,
  question: CallQuestion,
  send: (answer: GateAnswer) => void,
  rest: RestOfBody | null,
): void {
  const answer = (decision: GateAnswer) => {
    state.deciding.delete(callId(question.connection, question.request));
    send(decision);
  };
  const head = readRequestHead(question.head);
  if (isUnreadable(head)) return answer(ALLOWED);
  const route = matchRoute(state, question, head);
  if (route === null) return answer(ALLOWED);
  if (!question.isTurn && hasTurns(route)) return answer({ kind: "allow", holdsTurns: true });
  const decideWhole = (whole: CallQuestion) =>
    readBody(state, whole, head, (body) => {
      const call = describeCall(state, whole, head, route, body, attributionOf(state, whole), answer);
      notePricing(state, whole, call);
      decideCall(state, call);
    });
  if (rest === null) return decideWhole(question);
  if (refuseAtStart(state, question, head, route, answer)) return;
  rest((bytes) => decideWhole({ ...question, body: joinBytes([question.body, bytes]) }));
}

/**
 * Refuses a call if the start of its body is enough for that, since the bound of a long body takes longer than the call may wait. Returns
 * false, and sends no answer, otherwise.
 */
function refuseAtStart(
  state: HeldState,
  question: CallQuestion,
  head: RequestHead,
  route: MeteredRoute,
  answer: (answer: GateAnswer) => void,
): boolean {
  const id = callId(question.connection, question.request);
  const start = readStart(state, question, head, route);
  if (start === null || state.deciding.get(id)?.isSent === true) return false;
  const call = {
    ...{ question, turn: readTurn(question, route), head, route, answer },
    attribution: attributionOf(state, question),
  };
  const { caller, program } = callerFacts(call, knownAttribution(call));
  const facts = { ...start, ...caller };
  const decision = state.budgets.decide({ facts, bound: undefined, isFinal: false });
  if (decision.kind !== "refuse") return false;
  rememberDecision(state, { id, facts, isCounted: false });
  refuse(state, call, facts, decision, program);
  return true;
}

function refuse(
  state: HeldState,
  call: Pick<KnownCall, "turn" | "head" | "route" | "answer">,
  facts: CallFacts,
  decision: CallRefused,
  program: string | null,
): void {
  state.budgets.refused(decision.budget, facts);
  settlePasses(state, []);
  call.answer({ kind: "refuse", answer: formatAnswer(call, decision, program), budget: decision.budget });
}

function decideCall(state: HeldState, call: KnownCall): void {
  const known = knownAttribution(call);
  if (known !== null) {
    finishDecision(state, call, known, true);
    return;
  }
  if (finishDecision(state, call, null, false)) return;
  const deciding = state.deciding.get(callId(call.question.connection, call.question.request));
  if (deciding !== undefined) deciding.call = call;
  attributeCall(call).then(
    (found) => void finishDecision(state, call, found, true),
    () => void finishDecision(state, call, null, true),
  );
}

function attributionOf(state: HeldState, question: CallQuestion): ConnectionAttribution {
  const { attributions } = state;
  const { connection, clientPort, proxyUser, caller } = question;
  const known = attributions.get(connection);
  if (known !== undefined) return known;
  const attribution = state.attribution({ clientPort, proxyUser, ...(caller !== null && { caller }) });
  const [oldest] = attributions.keys();
  if (attributions.size >= MAX_ATTRIBUTIONS && oldest !== undefined) attributions.delete(oldest);
  attributions.set(connection, attribution);
  return attribution;
}

/** Decides with the known facts of the caller. Returns false, and sends no answer, if more facts are needed. */
function finishDecision(
  state: HeldState,
  call: KnownCall,
  attribution: CallAttribution | null,
  isFinal: boolean,
): boolean {
  const { question, turn, route, bound } = call;
  const { facts, program } = completeFacts(state, call, attribution);
  const decision = state.budgets.decide({ facts, bound, isFinal });
  if (decision.kind === "undecided") return false;
  const id = callId(question.connection, question.request);
  const deciding = state.deciding.get(id);
  // A call that was sent already is under way, whatever the decision is.
  const isSent = deciding?.isSent === true;
  const isCounted = isSent || (decision.kind === "allow" && decision.letThrough.length > 0);
  if (!isSent && decision.kind === "allow" && isCounted) state.budgets.letThrough(decision.letThrough);
  rememberDecision(state, { id, facts, isCounted });
  if (decision.kind === "refuse" && !isSent) {
    refuse(state, call, facts, decision, program);
    return true;
  }
  const seen = deciding?.shown ?? "end";
  // A call that has ended is counted by its record.
  if (seen !== "end") countCall(state, id, call, facts, program);
  if (seen === "nothing") admit(state, question.connection, id);
  else if (seen === "begin") state.shown.add(id);
  // The answer lets calls pass again.
  settlePasses(state, []);
  call.answer(hasTurns(route) && turn === null ? { kind: "allow", holdsTurns: true } : ALLOWED);
  return true;
}

/** Keeps a decision, in place of the oldest. */
function rememberDecision(state: HeldState, decided: HeldState["decided"][number]): void {
  state.decided[state.nextDecided] = decided;
  state.nextDecided = (state.nextDecided + 1) % MAX_DECIDED;
}

/** Counts a call that was sent before the decision on it, by the budgets that may count it. */
function countLate({ budgets, deciding, decided, place, now }: HeldState, id: string): void {
  const waiting = deciding.get(id);
  if (waiting !== undefined) waiting.isSent = true;
  if (waiting?.call != null) {
    // The decision waits for the caller, so each budget that does not need it would have let the call go.
    const { facts, bound } = waiting.call;
    const decision = budgets.decide({ facts, bound, isFinal: true });
    if (decision.kind === "allow") budgets.letThrough(decision.letThrough);
    return;
  }
  const known = decided.find((each) => each.id === id);
  if (known?.isCounted === true) return;
  const facts = known?.facts ?? place;
  budgets.letThrough(
    budgets
      .state()
      .budgets.filter((each) => isBlocking(each, now()) && matchesScope(each.active.budget, facts) !== false)
      .map(({ active: { budget } }) => ({ budget: budget.name, reason: "late" })),
  );
}

const callId = (connection: number, request: number) => `${connection}.${request}`;

/** A call counts as in flight until its record is a part of the sums. */
function endCall(state: HeldState, connection: number, request: number, requestId: string | null): void {
  const id = callId(connection, request);
  const deciding = state.deciding.get(id);
  if (deciding !== undefined) deciding.shown = "end";
  const pass = state.passes.get(id);
  if (pass === undefined ? !state.shown.delete(id) : pass.isRecorded) return;
  if (requestId !== null) {
    if (pass !== undefined) pass.isRecorded = true;
    endDropped(state);
    state.unstored.set(requestId, { call: id, endedAt: state.now() });
  } else if (pass !== undefined) settlePasses(state, [id]);
  else state.budgets.ended(id);
}
