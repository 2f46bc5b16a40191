import { databaseFaults } from "./database-faults.ts";
import { diskFaults } from "./disk-faults.ts";
import { createFaultRig } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";
import { machineFaults } from "./machine-faults.ts";
import { powerCut } from "./power-cut.ts";
import { processFaults } from "./process-faults.ts";

/** All local rows of the fault table. */
export const faultScenarios: readonly FaultScenario[] = [
  ...processFaults,
  ...diskFaults,
  powerCut,
  ...databaseFaults,
  ...machineFaults,
];

/** The result of one scenario. `not_tested` is not a success: the fault could not be caused here. */
export type FaultResult =
  | { readonly kind: "ok"; readonly tookMs: number }
  | { readonly kind: "failed"; readonly tookMs: number; readonly error: unknown }
  | { readonly kind: "not_tested"; readonly why: string };

/** Runs one scenario with its own providers and homes. */
export async function runFault(scenario: FaultScenario, seed: string): Promise<FaultResult> {
  const why = scenario.obstacle?.() ?? null;
  if (why !== null) return { kind: "not_tested", why };
  const startedAt = performance.now();
  const rig = await createFaultRig(`${seed} ${scenario.name}`);
  const tookMs = () => Math.round(performance.now() - startedAt);
  try {
    await scenario.run(rig);
    return { kind: "ok", tookMs: tookMs() };
  } catch (error) {
    return { kind: "failed", tookMs: tookMs(), error };
  } finally {
    await rig.close();
  }
}
