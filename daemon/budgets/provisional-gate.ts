import type { Budget } from "../../core/budgets/budget.ts";
import type { GateConfig } from "../proxy/call-gate.ts";

/** How long a call waits for its decision, in milliseconds. Source: docs/specification.md#budgets. */
export const DECISION_TIMEOUT_MS = 5;

/** Returns the gate of a proxy that starts before the budgets are read. `configured` are those of `config.toml`. */
export function provisionalGate(configured: readonly Budget[]): GateConfig {
  const isClosed = configured.some(({ atLimit, fail }) => atLimit === "block" && fail === "closed");
  return { fail: isClosed ? "closed" : "open", timeoutMs: DECISION_TIMEOUT_MS, isProvisional: true };
}
