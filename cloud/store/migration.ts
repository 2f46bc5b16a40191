/** One step of the schema. Steps only add, so that code of the step before runs on the schema of the step after. */
export interface Migration {
  /** Number and name; the order of the names is the order of the steps. Never changed once released. */
  readonly name: string;
  readonly statements: readonly string[];
}
