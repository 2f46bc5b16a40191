/** What the log says of a failure: its name alone, since a message may quote what passed. */
export const errorName = (cause: unknown): string => (cause instanceof Error ? cause.name : "unknown");
