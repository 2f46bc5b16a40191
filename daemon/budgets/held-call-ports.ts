import type { CallFacts, CallUse } from "../../core/budgets/budget.ts";
import type { BudgetsState } from "../../core/budgets/budget-state.ts";
import type { CallDecision, CallToDecide } from "../../core/budgets/decide-call.ts";
import type { LetThrough } from "../../core/budgets/let-through.ts";
import type { ConnectionAttribution } from "../capture/ports.ts";
import type { CallQuestion } from "../proxy/call-question.ts";
import type { PassMemory } from "../proxy/passes.ts";
import type { CallSources } from "./describe-held-call.ts";

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
