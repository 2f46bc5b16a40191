/** Returns the class name of an error for the log, or `unknown` for a thrown value that is not an error. */
export function errorName(cause: unknown): string {
  return cause instanceof Error ? cause.name : "unknown";
}

/**
 * Returns the message of an error for the log, which removes secrets and control characters; null if there is none or it
 * may quote its input, as a `SyntaxError` does. Not for errors of parsers of captured traffic: their messages may quote it.
 */
export function errorMessage(cause: unknown): string | null {
  return cause instanceof Error && !(cause instanceof SyntaxError) ? cause.message : null;
}
