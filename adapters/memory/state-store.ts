import type { StateStore } from "../../core/ports/state-store.ts";

/** A state store in memory. It keeps JSON text, as a real one would, so that what is not plain JSON shows at once. */
export function createMemoryStateStore<State>(): StateStore<State> {
  let saved: string | null = null;
  return {
    async load() {
      return saved === null ? null : (JSON.parse(saved) as State);
    },
    async save(state) {
      saved = JSON.stringify(state);
    },
  };
}
