/** Where a machine's state lives between two runs of the process. */
export interface StateStore<State> {
  /** The state saved last, or `null` where none was ever saved. */
  load(): Promise<State | null>;
  /** Replaces the saved state, all or nothing. Saving the same state again changes nothing. */
  save(state: State): Promise<void>;
}
