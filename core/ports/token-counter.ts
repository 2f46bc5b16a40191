/** Counts the tokens of texts, for estimates. What it needs for that is loaded when it is first asked. */
export interface TokenCounter {
  /**
   * How many tokens the texts are together, each for itself, for a model as near to the named one as is known. Null where
   * it can't be told. Never rejects.
   */
  count(texts: readonly string[], model: string): Promise<number | null>;
}
