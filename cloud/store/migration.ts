/** A migration of the schema. Migrations only add, so that the previous version's code runs on the new schema. */
export interface Migration {
  /** Number and name; migrations run in the order of their names. Never changed once released. */
  readonly name: string;
  readonly statements: readonly string[];
}
