import { type InstallEntry, type InstallStep, stepKey } from "./step.ts";

/** A step to take, with the entry of an earlier run that it replaces. */
export interface PlannedStep {
  readonly step: InstallStep;
  readonly earlier: InstallEntry | null;
  /** `keep`: already in place. `redo`: undo the earlier step, then apply this one. */
  readonly how: "do" | "redo" | "keep";
}

const same = (one: InstallStep, other: InstallStep): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * Compares a new plan with what earlier runs did. `stale` holds the keys of recorded files, blocks and variables that have
 * since changed on the machine. Commands run again if they changed, or if a file between them and the previous commands of
 * the plan changed.
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

/** Records the entry of a step: in place of the earlier entry with the same key, or at the end. */
export function putEntry(entries: readonly InstallEntry[], entry: InstallEntry): InstallEntry[] {
  const key = stepKey(entry.step);
  const at = entries.findIndex(({ step }) => stepKey(step) === key);
  return at === -1 ? [...entries, entry] : entries.with(at, entry);
}
