import type { StateStore } from "../../core/ports/state-store.ts";

/** Creates a state store in memory. It stores JSON text, as a real one would, so that state that is not plain JSON fails at once. */
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
