/** Counts the tokens of texts, for estimates. Loads its data on first use. */
export interface TokenCounter {
  /**
   * Returns the total tokens of the texts, counted one by one, for the closest known model. Null if it cannot be counted.
   * Never rejects.
   */
  count(texts: readonly string[], model: string): Promise<number | null>;
}
