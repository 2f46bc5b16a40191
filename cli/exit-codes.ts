/** What the program's exit codes mean. `meter run` ends with the code of the command that it ran. */
export const exitCodes = {
  ok: 0,
  /** It was tried and failed; the message on standard error says why. */
  failed: 1,
  /** The words on the command line are off. */
  usage: 2,
  /** The daemon is not running. */
  notRunning: 3,
  /** No such request, project or other thing, or nothing metered yet. A list that is empty is no failure. */
  notFound: 4,
} as const;

/** The same as a table for people. */
export const exitCodeTable: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.ok, "done"],
  [exitCodes.failed, "tried and failed: the message says why"],
  [exitCodes.usage, "the command line is not understood"],
  [exitCodes.notRunning, "the daemon is not running"],
  [exitCodes.notFound, "no such request, project or other thing, or nothing metered yet"],
];

/** Ends a command with a message for people and an exit code, without a stack. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}
