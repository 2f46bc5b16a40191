import { describe, it } from "node:test";
import { faultScenarios, runFault } from "../chaos/faults/run-faults.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.ts";

// The faults that take minutes are among those of `npm run chaos:local`.
describe("a fault", { skip: onNodeOnly, timeout: 2 * SUITE_TIMEOUT_MS }, () => {
  for (const scenario of faultScenarios.filter(({ isQuick }) => isQuick)) {
    it(`${scenario.name}: ${scenario.data}`, async (test) => {
      const result = await runFault(scenario, "tests");
      if (result.kind === "not_tested") return test.skip(`NOT TESTED: ${result.why}`);
      if (result.kind === "failed") throw result.error;
    });
  }
});
