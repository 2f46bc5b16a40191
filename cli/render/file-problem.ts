/**
 * Describes why a file can't be read or written, without the code, the call and the path that the runtime adds: `no such
 * file or directory` for `ENOENT: no such file or directory, open '/tmp/x'`.
 */
export function describeFileProblem(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return /^E[A-Z0-9]+: (.*?), [a-z]+(?: '.*)?$/s.exec(message)?.[1] ?? message;
}
