/**
 * In-memory implementations of the small ports, for embedders and tests: machine state, the records and bodies that wait for
 * the cloud, and the cloud's accounts. They follow the ports' rules on order, repeated calls and unknown ids.
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
export { createMemoryBodyStore, type MemoryBody, type MemoryBodyStore } from "./body-store.ts";
export { createMemoryStateStore } from "./state-store.ts";
export { createMemorySyncStore, type MemorySyncStore } from "./sync-store.ts";
