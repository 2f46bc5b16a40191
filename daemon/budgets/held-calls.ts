import { boundCall } from "../../core/budgets/bound/bound-call.ts";
import { type CallFacts, type CallUse, matchesScope } from "../../core/budgets/budget.ts";
import type { BudgetsState } from "../../core/budgets/budget-state.ts";
import type { CallDecision, CallRefused, CallToDecide } from "../../core/budgets/decide-call.ts";
import { passCapacity } from "../../core/budgets/pass-capacity.ts";
import {
  createRefusal,
  createTurnRefusal,
  formatRefusalResponse,
} from "../../core/budgets/refusal/create-refusal.ts";
import { programOfUserAgent } from "../../core/metering/attribution/program-name.ts";
import { readBillingMode } from "../../core/metering/billing/billing-mode.ts";
import { readCredentialKind } from "../../core/metering/billing/credential.ts";
import { headerValue, type RequestHead, readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import { readCallIdentity } from "../../core/metering/sessions/call-identity.ts";
import { createRequestFactsReader } from "../../core/metering/usage/read-request.ts";
import type { Registry } from "../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import { createBodyDecoder } from "../capture/body-decoder.ts";
import type { CallAttribution, ConnectionAttribution } from "../capture/ports.ts";
import type { CallQuestion, GateAnswer, GateConfig } from "../proxy/call-gate.ts";
import { createPassMemory, freeSlot, type PassMemory, setCapacity } from "../proxy/passes.ts";
import { DECISION_TIMEOUT_MS } from "./provisional-gate.ts";

/** The budgets, as far as held calls need them. */
export interface HeldCallBudgets {
  canRefuse(): boolean;
  state(): BudgetsState;
  decide(call: CallToDecide): CallDecision;
  /** The call is sent. It counts with its bound until `ended()`. */
  admitted(call: string, facts: CallFacts, bound: CallUse): void;
  refused(budget: string, facts: CallFacts): void;
  /** The call's record is part of the sums, or it has none. Repeatable. */
  ended(call: string): void;
  callsLost(): void;
}

/** The ports of the decision on held calls. */
export interface HeldCallPorts {
  readonly budgets: HeldCallBudgets;
  readonly registry: Registry;
  prices(): PriceBook;
  attribution(connection: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
    readonly caller?: NonNullable<CallQuestion["caller"]>;
  }): ConnectionAttribution;
  readonly createDecoder: CreateContentDecoder;
  now(): Millis;
  /** The machine and the person of this installation. */
  readonly place: CallFacts;
}

/** Decides on calls that the proxy holds, and counts those that it admitted as in flight until they are stored. */
export interface HeldCalls {
  /** Decides once the calls of `passed` are counted. */
  decide(
    question: CallQuestion,
    answer: (answer: GateAnswer) => void,
    passed?: readonly CallQuestion[],
  ): void;
  /** The call was sent without a decision. It takes the slot until the sums contain it. */
  passed(connection: number, request: number, slot: number): void;
  /** The log has shown the call. */
  began(connection: number, request: number): void;
  /** The call has ended, and becomes a record with this id. Null: it becomes none. Repeatable. */
  ended(connection: number, request: number, requestId: string | null): void;
  /** Records were stored and are part of the budgets' sums. */
  stored(records: Iterable<Pick<RequestRecord, "requestId">>): void;
  /** The connection has ended: its other calls never reached a provider. */
  closed(connection: number): void;
  /** The proxy's thread has ended, and all calls with it. */
  lost(): void;
  /** How the proxy must hold calls now; null if no budget can refuse one. Also updates how many may pass. */
  gate(): GateConfig | null;
}

const ALLOWED: GateAnswer = { kind: "allow" };

/** The most attributions that are kept for later calls on their connections. */
const MAX_ATTRIBUTIONS = 4_096;

interface HeldState extends HeldCallPorts {
  /** By connection. */
  readonly attributions: Map<number, ConnectionAttribution>;
  /** The calls that wait for a look-up, and what the log has shown of them: a call that waits too long is sent undecided. */
  readonly deciding: Map<string, { readonly connection: number; shown: "nothing" | "begin" | "end" }>;
  /** The admitted calls that the log has not shown yet, by connection; and those that it has shown. */
  readonly admitted: Map<number, Set<string>>;
  readonly shown: Set<string>;
  /** The calls whose records are not stored yet, by the id of the record. */
  readonly unstored: Map<string, string>;
  /** The calls that were sent without a decision and are neither in flight nor in the sums, by their id. */
  readonly passes: Map<string, PassingCall>;
  readonly passMemory: PassMemory;
}

interface PassingCall {
  readonly connection: number;
  readonly slot: number;
  /** Whether the log has shown the call; and whether it has become a record that is not stored yet. */
  hasBegun: boolean;
  isRecorded: boolean;
}

export function createHeldCalls(ports: HeldCallPorts): HeldCalls {
  const state: HeldState = {
    ...ports,
    attributions: new Map(),
    deciding: new Map(),
    admitted: new Map(),
    shown: new Set(),
    unstored: new Map(),
    passes: new Map(),
    passMemory: createPassMemory(),
  };
  return {
    decide: (question, answer, passed = []) => decideAfter(state, question, answer, passed),
    passed(connection, request, slot) {
      const pass = { connection, slot, hasBegun: false, isRecorded: false };
      state.passes.set(callId(connection, request), pass);
    },
    began(connection, request) {
      const id = callId(connection, request);
      const pass = state.passes.get(id);
      if (pass !== undefined) pass.hasBegun = true;
      const deciding = state.deciding.get(id);
      if (deciding !== undefined) deciding.shown = "begin";
      if (state.admitted.get(connection)?.delete(id) === true) state.shown.add(id);
    },
    ended: (connection, request, requestId) => endCall(state, connection, request, requestId),
    stored(records) {
      if (state.unstored.size === 0) return updateCapacity(state);
      const calls: string[] = [];
      for (const { requestId } of records) {
        const call = state.unstored.get(requestId);
        if (call === undefined) continue;
        state.unstored.delete(requestId);
        ports.budgets.ended(call);
        calls.push(call);
      }
      settlePasses(state, calls);
    },
    closed(connection) {
      state.attributions.delete(connection);
      for (const each of state.deciding.values()) if (each.connection === connection) each.shown = "end";
      for (const call of state.admitted.get(connection) ?? []) ports.budgets.ended(call);
      state.admitted.delete(connection);
      if (state.passes.size === 0) return;
      const passes = [...state.passes].filter(
        ([, pass]) => pass.connection === connection && !pass.isRecorded,
      );
      settlePasses(
        state,
        passes.map(([id]) => id),
      );
    },
    lost() {
      const { attributions, deciding, admitted, shown, unstored, passes } = state;
      for (const calls of [attributions, deciding, admitted, shown, unstored, passes]) calls.clear();
      ports.budgets.callsLost();
      state.passMemory.fill(0);
    },
    gate() {
      updateCapacity(state);
      if (!ports.budgets.canRefuse()) return null;
      const isClosed = ports.budgets
        .state()
        .budgets.some(({ active: { budget } }) => budget.atLimit === "block" && budget.fail === "closed");
      const passes = state.passMemory.buffer;
      return { fail: isClosed ? "closed" : "open", timeoutMs: DECISION_TIMEOUT_MS, passes };
    },
  };
}

function updateCapacity({ passMemory, budgets, now }: HeldState): void {
  setCapacity(passMemory, passCapacity(budgets.state(), now()));
}

/** Ends the passes among these calls: they are in flight, in the sums, or used nothing. */
function settlePasses(state: HeldState, calls: readonly string[]): void {
  // Each change of the sums ends here, whether a call passed or not.
  updateCapacity(state);
  for (const call of calls) {
    const pass = state.passes.get(call);
    if (pass === undefined) continue;
    state.passes.delete(call);
    freeSlot(state.passMemory, pass.slot);
  }
}

function decideAfter(
  state: HeldState,
  question: CallQuestion,
  answer: (answer: GateAnswer) => void,
  passed: readonly CallQuestion[],
): void {
  const { connection, request } = question;
  state.deciding.set(callId(connection, request), { connection, shown: "nothing" });
  const counts = passed.flatMap((each) => countPass(state, each) ?? []);
  if (counts.length === 0) return decide(state, question, answer);
  void Promise.all(counts).then(() => decide(state, question, answer));
}

/** Counts a passed call as in flight, as if it had been admitted. Returns a promise if that needs a look-up, and never rejects. */
function countPass(state: HeldState, question: CallQuestion): Promise<void> | null {
  const id = callId(question.connection, question.request);
  const isCounted = () => !state.passes.has(id);
  const head = readRequestHead(question.head);
  const route = isUnreadable(head) ? null : matchRoute(state, question, head);
  if (isCounted() || isUnreadable(head) || route === null) return null;
  let isDone = false;
  const done = new Promise<void>((resolve) => {
    const end = () => {
      isDone = true;
      resolve();
    };
    readBody(state, question, head, (body) => {
      const call = describeCall(state, question, head, route, body, () => {});
      const count = (attribution: CallAttribution | null) => {
        if (!isCounted()) admitPass(state, id, completeFacts(call, attribution).facts, call.bound);
        end();
      };
      const known = knownAttribution(call);
      if (known !== null || isDecidable(state, call.facts)) return count(known);
      attributeCall(call).then(count, () => count(null));
    });
  });
  return isDone ? null : done;
}

/** Whether the facts are enough for the scope of each budget. */
const isDecidable = ({ budgets }: HeldState, facts: CallFacts): boolean =>
  budgets.state().budgets.every(({ active }) => matchesScope(active.budget, facts) !== undefined);

function admitPass(state: HeldState, id: string, facts: CallFacts, bound: CallUse): void {
  const pass = state.passes.get(id) as PassingCall;
  state.budgets.admitted(id, facts, bound);
  // A recorded call ends when its record is stored.
  if (!pass.isRecorded) {
    if (pass.hasBegun) state.shown.add(id);
    else admit(state, pass.connection, id);
  }
  settlePasses(state, [id]);
}

function admit({ admitted }: HeldState, connection: number, id: string): void {
  const calls = admitted.get(connection);
  if (calls === undefined) admitted.set(connection, new Set([id]));
  else calls.add(id);
}

/** What is known about a held call at once. */
interface KnownCall {
  readonly question: CallQuestion;
  readonly head: RequestHead;
  readonly route: MeteredRoute;
  readonly facts: CallFacts;
  readonly bound: CallUse;
  readonly attribution: ConnectionAttribution;
  readonly answer: (answer: GateAnswer) => void;
}

function decide(state: HeldState, question: CallQuestion, send: (answer: GateAnswer) => void): void {
  const answer = (decision: GateAnswer) => {
    state.deciding.delete(callId(question.connection, question.request));
    send(decision);
  };
  const head = readRequestHead(question.head);
  if (isUnreadable(head)) return answer(ALLOWED);
  const route = matchRoute(state, question, head);
  if (route === null) return answer(ALLOWED);
  if (question.turn === null && hasTurns(route)) return answer({ kind: "allow", gatesTurns: true });
  readBody(state, question, head, (body) =>
    decideCall(state, describeCall(state, question, head, route, body, answer)),
  );
}

/** Returns the route of a call that may cost something. Counting tokens, lists of models and the results of earlier calls cost nothing. */
function matchRoute(
  { registry }: HeldState,
  { host, port }: CallQuestion,
  { method, target }: RequestHead,
): MeteredRoute | null {
  const route = registry.match({ host, port, method, path: target });
  return route.kind !== "metered" || route.fetches === true || route.api === "repeated" ? null : route;
}

/** Whether the decision is on each message of a WebSocket, and not on its handshake. */
const hasTurns = ({ webSocket, api }: MeteredRoute) =>
  webSocket === true && (api === "openai.responses" || api === "openai.realtime");

/** Decodes the body if all of it is there. Calls back at once unless it is compressed. */
function readBody(
  { createDecoder }: HeldState,
  { body, isWhole, turn }: CallQuestion,
  head: RequestHead,
  then: (body: Uint8Array | null) => void,
): void {
  if (turn !== null) return then(new TextEncoder().encode(turn));
  const pieces: Uint8Array[] = [];
  const encoding = headerValue(head.headers, "content-encoding");
  if (encoding !== null && !isWhole) return then(null);
  const decoder = createBodyDecoder(createDecoder, encoding, (bytes) => void pieces.push(bytes));
  decoder.push(body);
  decoder.end((readable) => then(readable ? joinBytes(pieces) : null));
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** Reads what the request itself states. */
function describeCall(
  state: HeldState,
  question: CallQuestion,
  head: RequestHead,
  route: MeteredRoute,
  body: Uint8Array | null,
  answer: (answer: GateAnswer) => void,
): KnownCall {
  const reader = createRequestFactsReader(route);
  if (body !== null) reader.push(body);
  const { requestedModel, stated } = reader.end();
  const identity = readCallIdentity({ headers: head.headers, body: stated ?? null });
  const isWhole = question.isWhole || question.turn !== null;
  const { model, ...bound } = boundCall(
    { route, body, bodyBytes: isWhole ? (body?.length ?? null) : null, at: state.now() },
    state.prices(),
  );
  const billing = readBillingMode({
    provider: route.provider,
    billing: route.billing ?? null,
    credential: readCredentialKind(head.headers, head.target),
    responseHeaders: null,
    usesCredits: null,
    models: [requestedModel ?? ""],
  });
  const facts: CallFacts = {
    ...state.place,
    provider: route.provider,
    ...(requestedModel !== null && { model: requestedModel }),
    session: identity.sessionId,
    agent: identity.agentId,
    billing,
  };
  const attribution = attributionOf(state, question);
  return { question, head, route, facts, bound, attribution, answer };
}

/** Returns the caller, if it is known at once. */
function knownAttribution({ question, head, attribution }: KnownCall): CallAttribution | null {
  const known = attribution.known?.(projectOf(question, head)) ?? null;
  const git = attribution.git?.() ?? null;
  return known === null || git instanceof Promise ? null : { ...known, git };
}

async function attributeCall({ question, head, attribution }: KnownCall): Promise<CallAttribution> {
  const [found, git] = await Promise.all([
    attribution.attribute(projectOf(question, head)),
    attribution.git?.() ?? null,
  ]);
  return { ...found, git };
}

const projectOf = ({ project }: CallQuestion, { headers }: RequestHead) =>
  project ?? headerValue(headers, "x-meter-project");

function decideCall(state: HeldState, call: KnownCall): void {
  const known = knownAttribution(call);
  if (known !== null) {
    finishDecision(state, call, known, true);
    return;
  }
  if (finishDecision(state, call, null, false)) return;
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

/** Returns all facts, as far as the caller is known, and the name of the client's program. */
function completeFacts({ head, facts }: KnownCall, attribution: CallAttribution | null) {
  const program = attribution?.client ?? null;
  const client = programOfUserAgent(headerValue(head.headers, "user-agent")) ?? program;
  const all: CallFacts = {
    ...facts,
    ...(attribution !== null && {
      project: attribution.project,
      branch: attribution.git?.branch ?? null,
      client: program ?? client,
    }),
  };
  return { facts: all, program };
}

/** Decides with the known facts of the caller. Returns false, and sends no answer, if more facts are needed. */
function finishDecision(
  state: HeldState,
  call: KnownCall,
  attribution: CallAttribution | null,
  isFinal: boolean,
): boolean {
  const { question, route, bound } = call;
  const { facts, program } = completeFacts(call, attribution);
  const decision = state.budgets.decide({ facts, bound, isFinal });
  if (decision.kind === "undecided") return false;
  if (decision.kind === "refuse") {
    state.budgets.refused(decision.budget, facts);
    updateCapacity(state);
    call.answer({ kind: "refuse", answer: formatAnswer(call, decision, program), budget: decision.budget });
    return true;
  }
  const id = callId(question.connection, question.request);
  const seen = state.deciding.get(id)?.shown ?? "end";
  // A call that has ended is counted by its record.
  if (seen !== "end") state.budgets.admitted(id, facts, bound);
  if (seen === "nothing") admit(state, question.connection, id);
  else if (seen === "begin") state.shown.add(id);
  // The answer lets calls pass again.
  updateCapacity(state);
  call.answer(hasTurns(route) && question.turn === null ? { kind: "allow", gatesTurns: true } : ALLOWED);
  return true;
}

const callId = (connection: number, request: number) => `${connection}.${request}`;

function formatAnswer(
  { question, head, route }: KnownCall,
  refused: CallRefused,
  program: string | null,
): Uint8Array {
  if (question.turn === null)
    return formatRefusalResponse(
      createRefusal(route, { headers: head.headers, program }, refused),
      head.method,
    );
  return new TextEncoder().encode(createTurnRefusal(route, parseTurn(question.turn), refused));
}

function parseTurn(turn: string): unknown {
  try {
    return JSON.parse(turn);
  } catch {
    return null;
  }
}

/** A call counts as in flight until its record is a part of the sums. */
function endCall(state: HeldState, connection: number, request: number, requestId: string | null): void {
  const id = callId(connection, request);
  const deciding = state.deciding.get(id);
  if (deciding !== undefined) deciding.shown = "end";
  const pass = state.passes.get(id);
  if (pass === undefined ? !state.shown.delete(id) : pass.isRecorded) return;
  if (requestId !== null) {
    if (pass !== undefined) pass.isRecorded = true;
    state.unstored.set(requestId, id);
  } else if (pass !== undefined) settlePasses(state, [id]);
  else state.budgets.ended(id);
}
