import { describe, it } from "node:test";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "../../end-to-end/meter-process.rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";
import { runFault } from "./run-faults.ts";

/** The faults that take seconds, as tests. `npm run chaos:local` causes all of them. */
export function testQuickFaults(group: string, faults: readonly FaultScenario[]): void {
  describe(`a fault of the ${group}`, { skip: onNodeOnly, timeout: 2 * SUITE_TIMEOUT_MS }, () => {
    for (const scenario of faults.filter(({ isQuick }) => isQuick)) {
      it(`${scenario.name}: ${scenario.data}`, async (test) => {
        const result = await runFault(scenario, "tests");
        if (result.kind === "not_tested") return test.skip(`NOT TESTED: ${result.why}`);
        if (result.kind === "failed") throw result.error;
      });
    }
  });
}
