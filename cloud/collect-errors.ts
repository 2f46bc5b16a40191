/** Runs pieces of work of which one that fails must not hold up the others. */
interface ErrorCollector {
  /** The errors so far. */
  readonly errors: readonly unknown[];
  /** Runs a piece. Resolves to whether it succeeded. */
  attempt(work: () => Promise<void>): Promise<boolean>;
}

/** Creates a collector without errors. */
export function collectErrors(): ErrorCollector {
  const errors: unknown[] = [];
  return {
    errors,
    async attempt(work) {
      try {
        await work();
        return true;
      } catch (error) {
        errors.push(error);
        return false;
      }
    },
  };
}
