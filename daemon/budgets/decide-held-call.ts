import { type CallFacts, matchesScope } from "../../core/budgets/budget.ts";
import { type CallRefused, isBlocking } from "../../core/budgets/decide-call.ts";
import { type RequestHead, readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { joinBytes } from "../../core/values/join-bytes.ts";
import type { CallAttribution, ConnectionAttribution } from "../capture/ports.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "../proxy/call-question.ts";
import type { RestOfBody } from "../proxy/long-questions.ts";
import { admitPass, callId, countCall, type InFlightState, type ShownPart } from "./calls-in-flight.ts";
import {
  attributeCall,
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
import type { HeldCallPorts } from "./held-call-ports.ts";
import { countPasses, settlePasses } from "./passed-calls.ts";
import { notePricing, type PricedState } from "./priced-calls.ts";

/** The calls that the proxy holds until they are decided on. */
export interface DecidingState extends InFlightState, PricedState, Pick<HeldCallPorts, "attribution"> {
  readonly budgets: HeldCallPorts["budgets"];
  /** By connection. */
  readonly attributions: Map<number, ConnectionAttribution>;
  /** The calls that wait for a look-up. */
  readonly deciding: Map<string, DecidingCall>;
  /** The latest decisions, of which the proxy may state that they came too late; and where the next one is put. */
  readonly decided: { readonly id: string; readonly facts: CallFacts; readonly isCounted: boolean }[];
  nextDecided: number;
}

interface DecidingCall {
  readonly connection: number;
  /** A call that waits too long is sent undecided, and the log shows it. */
  shown: ShownPart;
  isSent: boolean;
  /** What is known so far. */
  call: KnownCall | null;
}

const ALLOWED: GateAnswer = { kind: "allow" };

/** The most attributions that are kept for later calls on their connections. */
const MAX_ATTRIBUTIONS = 4_096;

/** How many decisions are kept. */
const MAX_DECIDED = 64;

/** Decides as `HeldCalls.decide()` describes. */
export function decideHeldCall(
  state: DecidingState,
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

function decide(
  state: DecidingState,
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
  let isRefused = false;
  const tryStart = (body: Uint8Array) => {
    isRefused = refuseAtStart(state, { ...question, body }, head, route, answer);
  };
  if (question.body.length > 0) tryStart(question.body);
  if (isRefused) return;
  rest((bytes) => {
    if (!isRefused) decideWhole({ ...question, body: joinBytes([question.body, bytes]) });
  }, tryStart);
}

/**
 * Refuses a call if the start of its body is enough for that, since the bound of a long body takes longer than the call may wait. Returns
 * false, and sends no answer, otherwise.
 */
function refuseAtStart(
  state: DecidingState,
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
  state: DecidingState,
  call: Pick<KnownCall, "turn" | "head" | "route" | "answer">,
  facts: CallFacts,
  decision: CallRefused,
  program: string | null,
): void {
  state.budgets.refused(decision.budget, facts);
  settlePasses(state, []);
  call.answer({ kind: "refuse", answer: formatAnswer(call, decision, program), budget: decision.budget });
}

function decideCall(state: DecidingState, call: KnownCall): void {
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

function attributionOf(state: DecidingState, question: CallQuestion): ConnectionAttribution {
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
  state: DecidingState,
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
  const shown = deciding?.shown ?? "end";
  // A call that has ended is counted by its record.
  if (shown !== "end") countCall(state, id, call, facts, program, shown);
  // The answer lets calls pass again.
  settlePasses(state, []);
  call.answer(hasTurns(route) && turn === null ? { kind: "allow", holdsTurns: true } : ALLOWED);
  return true;
}

/** Keeps a decision, in place of the oldest. */
function rememberDecision(state: DecidingState, decided: DecidingState["decided"][number]): void {
  state.decided[state.nextDecided] = decided;
  state.nextDecided = (state.nextDecided + 1) % MAX_DECIDED;
}

/** Counts a call that was sent before the decision on it, by the budgets that may count it. */
export function countLate({ budgets, deciding, decided, place, now }: DecidingState, id: string): void {
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

/** Takes what the log shows of a call that is decided on. */
export function showDeciding({ deciding }: DecidingState, id: string, shown: ShownPart): void {
  const waiting = deciding.get(id);
  if (waiting !== undefined) waiting.shown = shown;
}

/** Forgets the caller of a connection that has closed. Its calls have ended. */
export function forgetCaller({ attributions, deciding }: DecidingState, connection: number): void {
  attributions.delete(connection);
  for (const each of deciding.values()) if (each.connection === connection) each.shown = "end";
}

/** Forgets all callers and decisions. */
export function forgetDecisions(state: DecidingState): void {
  state.attributions.clear();
  state.deciding.clear();
  state.decided.length = 0;
  state.nextDecided = 0;
}
