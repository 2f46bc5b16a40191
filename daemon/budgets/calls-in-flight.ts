import type { CallFacts } from "../../core/budgets/budget.ts";
import { RESERVATION_TIMEOUT_MS } from "../../core/budgets/budget-machine.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CallAttribution } from "../capture/ports.ts";
import { addCutTarget, type CutState } from "./cut-calls.ts";
import { completeFacts, type KnownCall } from "./describe-held-call.ts";
import type { HeldCallBudgets } from "./held-call-ports.ts";
import { type PassedState, type PassingCall, settlePasses } from "./passed-calls.ts";

/** The calls that were sent and are not part of the budgets' sums yet. */
export interface InFlightState extends PassedState, CutState {
  readonly budgets: Pick<HeldCallBudgets, "state" | "admitted" | "ended">;
  /** Those that the log has not shown yet, by connection; and those that it has shown. */
  readonly admitted: Map<number, Set<string>>;
  readonly shown: Set<string>;
  /** Those that have ended and whose records are not stored yet, by the id of the record, in the order in which they ended. */
  readonly unstored: Map<string, UnstoredCall>;
}

interface UnstoredCall {
  readonly call: string;
  readonly endedAt: Millis;
}

/** What the log has shown of a call. */
export type ShownPart = "nothing" | "begin" | "end";

/** Returns the id of a call. */
export const callId = (connection: number, request: number): string => `${connection}.${request}`;

/** Counts a call as in flight. If the log has shown its end, nothing but its record ends it. */
export function countCall(
  state: InFlightState,
  id: string,
  call: KnownCall,
  facts: CallFacts,
  program: string | null,
  shown: ShownPart,
): void {
  state.budgets.admitted(id, facts, call.bound);
  addCutTarget(state, id, call, program);
  if (shown === "nothing") admit(state, call.question.connection, id);
  else if (shown === "begin") state.shown.add(id);
}

function admit({ admitted }: InFlightState, connection: number, id: string): void {
  const calls = admitted.get(connection);
  if (calls === undefined) admitted.set(connection, new Set([id]));
  else calls.add(id);
}

/** Counts a call that passed as in flight. */
export function admitPass(
  state: InFlightState,
  id: string,
  { hasBegun, isRecorded }: PassingCall,
  call: KnownCall,
  attribution: CallAttribution | null,
): void {
  const { facts, program } = completeFacts(state, call, attribution);
  const begun = hasBegun ? "begin" : "nothing";
  countCall(state, id, call, facts, program, isRecorded ? "end" : begun);
  settlePasses(state, [id]);
}

/** Takes the beginning of a call from the log. */
export function beginCall(state: InFlightState, connection: number, id: string): void {
  const pass = state.passes.get(id);
  if (pass !== undefined) pass.hasBegun = true;
  if (state.admitted.get(connection)?.delete(id) === true) state.shown.add(id);
}

/** Takes the end of a call from the log. It counts as in flight until its record is a part of the sums. */
export function endCall(state: InFlightState, id: string, requestId: string | null): void {
  const pass = state.passes.get(id);
  if (pass === undefined ? !state.shown.delete(id) : pass.isRecorded) return;
  if (requestId !== null) {
    if (pass !== undefined) pass.isRecorded = true;
    endDropped(state);
    state.unstored.set(requestId, { call: id, endedAt: state.now() });
  } else if (pass !== undefined) settlePasses(state, [id]);
  else state.budgets.ended(id);
}

/** Ends calls whose records were dropped: they are not stored even when the budgets no longer count their calls as in flight. */
function endDropped(state: InFlightState): void {
  const calls: string[] = [];
  for (const [requestId, { call, endedAt }] of state.unstored) {
    if (Math.abs(state.now() - endedAt) < RESERVATION_TIMEOUT_MS) break;
    state.unstored.delete(requestId);
    calls.push(call);
  }
  if (calls.length > 0) endCalls(state, calls);
}

/** Ends the calls whose records were stored. */
export function storeCalls(state: InFlightState, records: readonly Pick<RequestRecord, "requestId">[]): void {
  const { unstored } = state;
  const calls: string[] = [];
  for (const { requestId } of records) {
    const call = unstored.get(requestId)?.call;
    if (call === undefined) continue;
    unstored.delete(requestId);
    calls.push(call);
  }
  endCalls(state, calls);
}

/** Ends calls that wait for nothing more. */
function endCalls(state: InFlightState, calls: readonly string[]): void {
  // A call that passed and was not counted is not in flight.
  for (const call of calls) if (!state.passes.has(call)) state.budgets.ended(call);
  settlePasses(state, calls);
}

/** Ends the calls of a connection that have no record and get none. */
export function endConnection(state: InFlightState, connection: number): void {
  const { admitted, passes, budgets } = state;
  for (const call of admitted.get(connection) ?? []) budgets.ended(call);
  admitted.delete(connection);
  if (passes.size === 0) return;
  const open = [...passes].filter(([, pass]) => pass.connection === connection && !pass.isRecorded);
  settlePasses(
    state,
    open.map(([id]) => id),
  );
}

/** Forgets all calls. */
export function forgetCalls({
  admitted,
  shown,
  unstored,
  passes,
  counting,
  cutTargets,
}: InFlightState): void {
  for (const calls of [admitted, shown, unstored, passes, counting, cutTargets]) calls.clear();
}
