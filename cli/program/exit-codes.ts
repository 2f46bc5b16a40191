/** The exit codes of `meter`. `meter run` exits with the code of the program it ran. */
export const exitCodes = {
  ok: 0,
  /** The command failed; the message on standard error says why. */
  failed: 1,
  /** The command line is invalid. */
  usage: 2,
  /** The daemon is not running. */
  notRunning: 3,
  /** No such request, project or other object, or nothing metered yet. An empty list is not a failure. */
  notFound: 4,
} as const;

/** The exit codes with their meanings, for help texts. */
export const exitCodeTable: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.ok, "success"],
  [exitCodes.failed, "failure; the message says why"],
  [exitCodes.usage, "invalid command line"],
  [exitCodes.notRunning, "the daemon is not running"],
  [exitCodes.notFound, "no such request, project or other object, or nothing metered yet"],
];

/** An error that ends a command with a message and an exit code, without a stack trace. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}
