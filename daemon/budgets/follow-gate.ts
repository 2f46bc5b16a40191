import type { RunningProxy } from "../proxy/start-proxy.ts";
import type { BudgetTracker } from "./budget-tracker.ts";
import type { HeldCalls } from "./held-calls.ts";

interface GateParts {
  readonly proxy: Pick<RunningProxy, "setGate" | "ping" | "cut">;
  readonly heldCalls: Pick<HeldCalls, "gate" | "cuts">;
  readonly budgets: Pick<BudgetTracker, "onChange">;
  readonly later: (work: () => void, delayMs: number) => void;
}

/** The proxy's gate, which follows the budgets. */
export interface FollowedGate {
  /** Resolves with whether the proxy has confirmed that it holds calls as the budgets now need. */
  confirmed(): Promise<boolean>;
  stop(): void;
}

/** How often the gate and the calls in flight are compared with the budgets, in milliseconds. A lift ends without an event. */
const CHECK_MS = 250;

/** How long the proxy's confirmation is waited for, in milliseconds. */
const CONFIRM_TIMEOUT_MS = 2_000;

/** Makes the proxy hold calls while a budget can refuse one, and end the calls that a budget ends. */
export function followGate({ proxy, heldCalls, budgets, later }: GateParts): FollowedGate {
  let current: string | null = null;
  let isStopped = false;
  const update = () => {
    if (isStopped) return;
    const gate = heldCalls.gate();
    const next = JSON.stringify(gate);
    if (next !== current) proxy.setGate(gate);
    current = next;
  };
  const check = () => {
    update();
    for (const order of heldCalls.cuts()) proxy.cut(order);
    if (!isStopped) later(check, CHECK_MS);
  };
  budgets.onChange(update);
  check();
  return {
    async confirmed() {
      update();
      // Messages are answered in their order.
      return await proxy.ping(CONFIRM_TIMEOUT_MS).then(
        () => true,
        () => false,
      );
    },
    stop() {
      isStopped = true;
    },
  };
}
