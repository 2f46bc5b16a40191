import { type InstallEntry, type InstallStep, stepKey } from "./step.ts";

/** A step to take, with the entry of an earlier run that it replaces. */
export interface PlannedStep {
  readonly step: InstallStep;
  readonly earlier: InstallEntry | null;
  /** `keep`: it is so already; `redo`: take the earlier step back, then take this one. */
  readonly how: "do" | "redo" | "keep";
}

const same = (one: InstallStep, other: InstallStep): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * Holds a new plan against what earlier runs did. `stale` says which of the recorded files, blocks and variables are no
 * longer on the machine as they were recorded. Commands are run again where they are new or a file before them in the
 * plan, back to the commands before, changes.
 */
export function mergePlan(
  steps: readonly InstallStep[],
  entries: readonly InstallEntry[],
  stale: ReadonlySet<string>,
): PlannedStep[] {
  const earlierOf = new Map(entries.map((entry) => [stepKey(entry.step), entry]));
  let changed = false;
  return steps.map((step) => {
    const key = stepKey(step);
    const earlier = earlierOf.get(key) ?? null;
    const isSame = earlier?.state === "done" && same(earlier.step, step) && !stale.has(key);
    if (step.kind !== "commands") {
      changed ||= !isSame;
      return { step, earlier, how: isSame ? "keep" : "do" };
    }
    const how = earlier === null ? "do" : isSame && !changed ? "keep" : "redo";
    if (step.do.length > 0) changed = false;
    return { step, earlier, how };
  });
}

/** The record after a planned step was begun: its entry stands where the earlier one stood, or at the end. */
export function putEntry(entries: readonly InstallEntry[], entry: InstallEntry): InstallEntry[] {
  const key = stepKey(entry.step);
  const at = entries.findIndex(({ step }) => stepKey(step) === key);
  return at === -1 ? [...entries, entry] : entries.with(at, entry);
}
