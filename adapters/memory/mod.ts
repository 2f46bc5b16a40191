/**
 * The small ports in memory, for embedders and tests: a machine's state, the records and the legs that wait for the
 * cloud, and the cloud's people. They keep what the ports promise of order, of running twice and of unknown ids.
 *
 * ```ts
 * import { createMemorySyncStore } from "./mod.ts";
 *
 * const store = createMemorySyncStore<{ model: string }>();
 * store.add("0190-a", { model: "m" });
 * await store.markSynced(["0190-a"], Date.UTC(2026, 0, 1));
 * await store.selectPending(500); // []
 * ```
 *
 * @module
 */
export { createMemoryAccounts } from "./accounts.ts";
export { createMemoryBodyStore, type MemoryBodyStore, type MemoryLeg } from "./body-store.ts";
export { createMemoryStateStore } from "./state-store.ts";
export { createMemorySyncStore, type MemorySyncStore } from "./sync-store.ts";
