import type { Capture } from "../capture/capture.ts";
import type { RunningProxy } from "../proxy/start-proxy.ts";
import type { BudgetTracker } from "./budget-tracker.ts";
import type { HeldCalls } from "./held-calls.ts";

interface GateParts {
  readonly proxy: Pick<RunningProxy, "setGate" | "closeIdle">;
  readonly capture: Pick<Capture, "connections" | "idleConnections">;
  readonly heldCalls: Pick<HeldCalls, "gate">;
  readonly budgets: Pick<BudgetTracker, "onChange">;
  readonly later: (work: () => void, delayMs: number) => void;
}

/** How often the gate is compared with the budgets, in milliseconds: a lift ends without an event. */
const CHECK_MS = 250;

/**
 * Makes the proxy hold calls while a budget can refuse one. The connections that were opened before it began are closed as soon as
 * they are idle, because their requests are not looked at. The returned function stops this.
 */
export function followGate({ proxy, capture, heldCalls, budgets, later }: GateParts): () => void {
  let current = "null";
  let open: ReadonlySet<number> = new Set();
  let isStopped = false;
  const update = () => {
    if (isStopped) return;
    const gate = heldCalls.gate();
    const next = JSON.stringify(gate);
    if (next !== current) {
      proxy.setGate(gate);
      open = new Set(gate !== null && current === "null" ? capture.connections() : []);
      current = next;
    }
    if (open.size === 0) return;
    proxy.closeIdle(capture.idleConnections().filter(({ connection }) => open.has(connection)));
    open = new Set(capture.connections().filter((connection) => open.has(connection)));
  };
  const check = () => {
    update();
    if (!isStopped) later(check, CHECK_MS);
  };
  budgets.onChange(update);
  check();
  return () => {
    isStopped = true;
  };
}
