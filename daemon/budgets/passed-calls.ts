import { boundCall } from "../../core/budgets/bound/bound-call.ts";
import { type CallFacts, type CallUse, matchesScope } from "../../core/budgets/budget.ts";
import type { BudgetsState } from "../../core/budgets/budget-state.ts";
import { passRoom } from "../../core/budgets/pass-room.ts";
import type { CallAttribution, ReadCall } from "../capture/ports.ts";
import type { PassedUses } from "../proxy/call-question.ts";
import type { PassCounts } from "../proxy/passes.ts";
import {
  attributeCall,
  type CallSources,
  type KnownCall,
  knownAttribution,
  mayCost,
  readBody,
  statedFacts,
} from "./describe-held-call.ts";

/** A call that the relay sent without a decision. */
export interface PassingCall {
  readonly connection: number;
  readonly request: number;
  readonly number: number;
  /** Whether the log has shown the call; and whether it has become a record that is not stored yet. */
  hasBegun: boolean;
  isRecorded: boolean;
  /** Null until the log has shown all of it. */
  call: ReadCall | null;
  /** Waits for that. Called with null if the call ends before. */
  whenRead: ((call: ReadCall | null) => void) | null;
}

/** The calls that were sent without a decision. */
export interface PassedState extends CallSources {
  readonly budgets: { state(): BudgetsState };
  /** Those that are neither in flight nor in the sums, by their id. */
  readonly passes: Map<string, PassingCall>;
  /** Those among them that wait for something before they count as in flight. Each promise never rejects. */
  readonly counting: Map<string, Promise<void>>;
  readonly passCounts: PassCounts;
}

/** Counts a call as in flight. */
type CountPass = (
  id: string,
  pass: PassingCall,
  call: KnownCall,
  attribution: CallAttribution | null,
) => void;

/** Ends the passes among these calls: they are in flight, in the sums, or used nothing. */
export function settlePasses(
  { budgets, now, passes, passCounts }: PassedState,
  calls: readonly string[],
): void {
  const counted: number[] = [];
  for (const id of calls) {
    const pass = passes.get(id);
    if (pass === undefined) continue;
    passes.delete(id);
    pass.whenRead?.(null);
    counted.push(pass.number);
  }
  // Each change of the sums ends here, whether a call passed or not.
  passCounts.update(passRoom(budgets.state(), now()), counted);
}

/** Adds a call that the relay sent. */
export function addPass(
  { passes }: PassedState,
  id: string,
  connection: number,
  request: number,
  number: number,
): void {
  passes.set(id, {
    connection,
    request,
    number,
    hasBegun: false,
    isRecorded: false,
    call: null,
    whenRead: null,
  });
}

/** Takes what the log shows of a request, if the call passed. */
export function readPass({ passes }: PassedState, id: string, call: ReadCall): void {
  const pass = passes.get(id);
  if (pass === undefined) return;
  pass.call = call;
  pass.whenRead?.(call);
}

/** Counts calls that passed as if they had been admitted. A call is in `counting` while that waits for something. */
export function countPasses(state: PassedState, { bounds, bodies }: PassedUses, count: CountPass): void {
  const ids = new Map([...state.passes].map(([id, { number }]) => [number, id]));
  for (let at = 0; at < bounds.length; at += 3) {
    const [number = 0, microUsd = 0, tokens = 0] = bounds.subarray(at, at + 3);
    const id = ids.get(number);
    if (id === undefined) continue;
    const use = {
      costPicoUsd: Number.isNaN(microUsd) ? null : BigInt(microUsd) * PICO_IN_MICRO,
      tokens: Number.isNaN(tokens) ? null : tokens,
    };
    countPass(state, id, use, bodies.get(number) ?? null, count);
  }
}

const PICO_IN_MICRO = 1_000_000n;

function countPass(
  state: PassedState,
  id: string,
  use: CallUse,
  body: Uint8Array | null,
  count: CountPass,
): void {
  const pass = state.passes.get(id) as PassingCall;
  let isDone = false;
  const done = new Promise<void>((resolve) => {
    const end = () => {
      isDone = true;
      state.counting.delete(id);
      resolve();
    };
    const countNow = (call: KnownCall, attribution: CallAttribution | null) => {
      if (state.passes.has(id)) count(id, pass, call, attribution);
      end();
    };
    const onRead = (read: ReadCall | null) => {
      pass.whenRead = null;
      if (read === null || !mayCost(read.route)) return end();
      boundPass(state, read, use, body, (bound) => {
        const call = describePass(state, pass, read, bound);
        const known = knownAttribution(call);
        if (known !== null || isDecidable(state, call.facts)) return countNow(call, known);
        attributeCall(call).then(
          (found) => countNow(call, found),
          () => countNow(call, null),
        );
      });
    };
    if (pass.call === null) pass.whenRead = onRead;
    else onRead(pass.call);
  });
  if (!isDone) state.counting.set(id, done);
}

/** Finds what a call can use at most, from its body if the relay did not know it. Calls back at once unless the body is compressed. */
function boundPass(
  sources: PassedState,
  { head, route }: ReadCall,
  use: CallUse,
  body: Uint8Array | null,
  then: (bound: CallUse) => void,
): void {
  if (body === null) return then(use);
  readBody(sources, { body, isWhole: true }, head, (decoded) => {
    const call = { route, body: decoded, bodyBytes: decoded?.length ?? null, at: sources.now() };
    const { costPicoUsd, tokens } = boundCall(call, sources.prices());
    then({ costPicoUsd, tokens });
  });
}

function describePass(
  sources: PassedState,
  { connection, request }: PassingCall,
  read: ReadCall,
  bound: CallUse,
): KnownCall {
  const { head, route, project, attribution, requestedModel } = read;
  return {
    ...{ head, route, attribution, bound, model: requestedModel },
    question: { connection, request, project },
    turn: null,
    facts: statedFacts(sources, read),
    answer() {},
  };
}

/** Whether the facts are enough for the scope of each budget. */
const isDecidable = ({ budgets }: PassedState, facts: CallFacts): boolean =>
  budgets.state().budgets.every(({ active }) => matchesScope(active.budget, facts) !== undefined);
