import { Command, UsageError } from "clipanion";
import { CommandFailure, exitCodes } from "./exit-codes.ts";

/** What all commands share: failures become one line on standard error and an exit code. */
export abstract class MeterCommand extends Command {
  /** Does the work; the exit code is 0 unless another is given. */
  protected abstract perform(): Promise<number | void>;

  override async execute(): Promise<number> {
    try {
      return (await this.perform()) ?? exitCodes.ok;
    } catch (cause) {
      if (cause instanceof CommandFailure) {
        this.context.stderr.write(`${this.cli.binaryName}: ${cause.message}\n`);
        return cause.exitCode;
      }
      if (cause instanceof UsageError) {
        this.context.stderr.write(`${this.cli.binaryName}: ${cause.message}\n\n${this.cli.usage(this)}`);
        return exitCodes.usage;
      }
      const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
      this.context.stderr.write(`${this.cli.binaryName}: this should not have happened. ${text}\n`);
      return exitCodes.failed;
    }
  }

  protected print(text: string): void {
    this.context.stdout.write(`${text}\n`);
  }

  /** A sentence beside the result. */
  protected readonly notice = (text: string): void => {
    this.context.stderr.write(`meter: ${text}\n`);
  };

  /** Integers beyond 2^53 are printed as decimal strings, since JSON numbers are read as doubles. */
  protected printJson(value: unknown): void {
    const text = JSON.stringify(
      value,
      (_key, inner) => (typeof inner === "bigint" ? inner.toString() : inner),
      2,
    );
    this.print(text);
  }

  /** The width of the terminal, or a fixed one where the output goes elsewhere. */
  protected get width(): number {
    const { columns } = this.context.stdout as { columns?: number };
    return columns ?? Number(this.context.env.COLUMNS ?? 120);
  }
}
