import { callsToCut, mayCut } from "../../core/budgets/calls-to-cut.ts";
import { createCut } from "../../core/budgets/refusal/create-cut.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CallQuestion } from "../proxy/call-question.ts";
import type { CutOrder } from "../proxy/response-cut.ts";
import type { KnownCall } from "./describe-held-call.ts";
import type { HeldCallBudgets } from "./held-call-ports.ts";

/** The calls that budgets may end. */
export interface CutState {
  readonly budgets: Pick<HeldCallBudgets, "state">;
  now(): Millis;
  /** By their id. */
  readonly cutTargets: Map<string, CutTarget>;
  /** The calls that have a response and only wait to be stored. */
  readonly unstored: ReadonlyMap<string, { readonly call: string }>;
}

/** What is needed to end a call. */
interface CutTarget
  extends Pick<CallQuestion, "connection" | "request">,
    Pick<KnownCall, "head" | "route" | "turn"> {
  readonly program: string | null;
}

/** Keeps what is needed to end a call in flight if a budget may. */
export function addCutTarget(
  { budgets, cutTargets }: CutState,
  id: string,
  { question, turn, head, route }: KnownCall,
  program: string | null,
): void {
  if (!mayCut(budgets.state())) return;
  const { connection, request } = question;
  cutTargets.set(id, { connection, request, turn, head, route, program });
}

/** Returns orders for the calls to end, each once. A call that has a response is not ended. */
export function listCuts({ budgets, cutTargets, unstored, now }: CutState): CutOrder[] {
  if (cutTargets.size === 0) return [];
  const { calls } = budgets.state();
  const inFlight = new Set(calls.map(({ id }) => id));
  for (const id of cutTargets.keys()) if (!inFlight.has(id)) cutTargets.delete(id);
  const answered = new Set([...unstored.values()].map(({ call }) => call));
  return callsToCut(budgets.state(), now()).flatMap(({ call, facts }) => {
    const known = answered.has(call.id) ? undefined : cutTargets.get(call.id);
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
