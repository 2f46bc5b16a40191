import type { CallQuestion } from "./call-gate.ts";

/** The most calls that may be under way without being counted in flight. */
export const MAX_PASSES = 64;

/** The most bytes of their bodies that are kept, in case they must be counted. */
const MAX_KEPT_BYTES = 8 * 1_048_576;

/**
 * The memory that both threads share, as 32-bit integers: first how many calls may be uncounted, which the main thread sets, then one
 * slot for each of them. This thread sets a slot to 1 when a call passes, and the main thread sets it to 0 once the budgets'
 * sums contain the call.
 */
export type PassMemory = Int32Array<SharedArrayBuffer>;

/** The memory's size in bytes. */
const MEMORY_BYTES = 4 * (1 + MAX_PASSES);

/** Creates the memory, in which no call may pass. */
export const createPassMemory = (): PassMemory => new Int32Array(new SharedArrayBuffer(MEMORY_BYTES));

/** Sets how many calls may be uncounted. It is set before `freeSlot()`, so that no call uses the room of another. */
export const setCapacity = (memory: PassMemory, capacity: number): void =>
  void Atomics.store(memory, 0, Math.min(capacity, MAX_PASSES));

/** The sums contain the call of the slot. */
export const freeSlot = (memory: PassMemory, slot: number): void => void Atomics.store(memory, slot, 0);

/** What the main thread has changed. A process has memory of its own, which follows. */
export interface PassChange {
  readonly capacity: number;
  readonly freedSlots: readonly number[];
}

/** Applies a change in the process that lets calls pass. The changes arrive in their order, and before the answers that follow them. */
export function applyPassChange(memory: PassMemory, { capacity, freedSlots }: PassChange): void {
  setCapacity(memory, capacity);
  for (const slot of freedSlots) freeSlot(memory, slot);
}

/** A call that is sent without a decision. */
export interface PassedCall {
  /** How many bytes of its body are kept. */
  readonly keptBytes: number;
  /** Returns the question that counts it. */
  question(): CallQuestion;
}

/** The calls that pass without a decision, because every budget has ample room. */
export interface Passes {
  /** Lets a call pass, and returns its slot. Null: there is no room for it. */
  begin(call: PassedCall): number | null;
  /** Returns those that the budgets do not contain yet. */
  uncounted(): readonly PassedCall[];
}

/** Creates the passes of the proxy's thread. */
export function createPasses(memory: PassMemory): Passes {
  let open: (PassedCall & { readonly slot: number })[] = [];
  // Plain loops, because this runs once per call.
  const prune = () => {
    let kept = 0;
    for (const each of open) if (Atomics.load(memory, each.slot) !== 0) open[kept++] = each;
    if (kept < open.length) open.length = kept;
  };
  return {
    begin({ keptBytes, question }) {
      prune();
      // Read after the slots: a slot is freed only after the capacity contains its call.
      if (open.length >= Atomics.load(memory, 0)) return null;
      let bytes = keptBytes;
      for (const each of open) bytes += each.keptBytes;
      if (bytes > MAX_KEPT_BYTES) return null;
      let slot = 1;
      while (slot <= MAX_PASSES && Atomics.load(memory, slot) !== 0) slot += 1;
      if (slot > MAX_PASSES) return null;
      Atomics.store(memory, slot, 1);
      // An array of one is far smaller than one that grows.
      if (open.length === 0) open = [{ keptBytes, question, slot }];
      else open.push({ keptBytes, question, slot });
      return slot;
    },
    uncounted() {
      prune();
      return open;
    },
  };
}
