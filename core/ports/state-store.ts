/** Stores the state of a machine between runs of the process. */
export interface StateStore<State> {
  /** Returns the last saved state, or `null` if none was saved. */
  load(): Promise<State | null>;
  /** Replaces the saved state atomically. Idempotent. */
  save(state: State): Promise<void>;
}
