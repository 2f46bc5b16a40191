import { Command, UsageError } from "clipanion";
import { MissingPackageError } from "../../adapters/optional-packages.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import { type CommandContext, createCommandContext } from "./command-context.ts";
import { CommandFailure, exitCodes } from "./exit-codes.ts";

/** Whether an error comes from the operating system or a database, so that its message suffices without a stack trace. */
function isSystemError(cause: unknown): cause is Error {
  return (
    cause instanceof StoreError ||
    (cause instanceof Error &&
      ("syscall" in cause || (cause.cause instanceof Error && "syscall" in cause.cause)))
  );
}

/**
 * The base class of all commands. A command names its words, options and help, and loads its handler only when it runs.
 * Errors become a line on standard error and an exit code.
 */
export abstract class MeterCommand extends Command {
  /** Runs the command. The exit code is 0 unless another one is returned. */
  protected abstract perform(): Promise<number | void>;

  /** What the handler of this command prints to and reads from. */
  protected get commandContext(): CommandContext {
    return createCommandContext(this.context, this.cli.binaryName);
  }

  override async execute(): Promise<number> {
    try {
      return (await this.perform()) ?? exitCodes.ok;
    } catch (cause) {
      const { notice: printError, stderr } = this.commandContext;
      if (cause instanceof CommandFailure) {
        printError(cause.message);
        return cause.exitCode;
      }
      if (cause instanceof UsageError) {
        printError(cause.message);
        stderr.write(`\n${this.cli.usage(this)}`);
        return exitCodes.usage;
      }
      if (cause instanceof MissingPackageError) {
        printError(`${cause.message}\nAdd -g if meter is installed with -g.`);
        return exitCodes.failed;
      }
      if (isSystemError(cause)) {
        printError(cause.message);
        return exitCodes.failed;
      }
      const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
      printError(`Internal error: ${text}`);
      return exitCodes.failed;
    }
  }
}
