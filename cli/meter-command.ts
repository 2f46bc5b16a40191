import { Command, UsageError } from "clipanion";
import { StoreError } from "../core/ports/sqlite.ts";
import { CommandFailure, exitCodes } from "./exit-codes.ts";
import { toPaste } from "./program-word.ts";
import { printableJson, printableLines } from "./render/printable.ts";

/** Columns where nobody says how wide the output is read, or says nonsense. */
const DEFAULT_WIDTH = 120;

/** What the system or a database said no to, a mistake of nobody's program: its words are enough, without a stack. */
function isRefusal(cause: unknown): cause is Error {
  return (
    cause instanceof StoreError ||
    (cause instanceof Error &&
      ("syscall" in cause || (cause.cause instanceof Error && "syscall" in cause.cause)))
  );
}

/** What all commands share: failures become one line on standard error and an exit code. */
export abstract class MeterCommand extends Command {
  /** Does the work; the exit code is 0 unless another is given. */
  protected abstract perform(): Promise<number | void>;

  override async execute(): Promise<number> {
    try {
      return (await this.perform()) ?? exitCodes.ok;
    } catch (cause) {
      if (cause instanceof CommandFailure) {
        this.complain(cause.message);
        return cause.exitCode;
      }
      if (cause instanceof UsageError) {
        this.complain(cause.message);
        this.context.stderr.write(`\n${this.cli.usage(this)}`);
        return exitCodes.usage;
      }
      if (isRefusal(cause)) {
        this.complain(cause.message);
        return exitCodes.failed;
      }
      const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
      this.complain(`this should not have happened. ${text}`);
      return exitCodes.failed;
    }
  }

  /** Lines of the result. Whatever names, paths and others' words they hold, they steer no terminal. */
  protected print(text: string): void {
    this.printAsIs(toPaste(text, this.context.env));
  }

  /** Lines in which no command of ours is to be pasted. */
  protected printAsIs(text: string): void {
    this.context.stdout.write(`${printableLines(text)}\n`);
  }

  /** A sentence beside the result. */
  protected readonly notice = (text: string): void => {
    this.context.stderr.write(`meter: ${printableLines(toPaste(text, this.context.env))}\n`);
  };

  /** What failed, under the program's name. */
  private complain(text: string): void {
    this.context.stderr.write(`${this.cli.binaryName}: ${printableLines(toPaste(text, this.context.env))}\n`);
  }

  /** Integers beyond 2^53 are printed as decimal strings, since JSON numbers are read as doubles. */
  protected printJson(value: unknown): void {
    const text = JSON.stringify(
      value,
      (_key, inner) => (typeof inner === "bigint" ? inner.toString() : inner),
      2,
    );
    this.printAsIs(printableJson(text));
  }

  /** The width of the terminal, or a fixed one where the output goes elsewhere; some terminals say 0 for not known. */
  protected get width(): number {
    const { columns } = this.context.stdout as { columns?: number };
    if (columns !== undefined && columns > 0) return columns;
    const { COLUMNS: said = "" } = this.context.env;
    return /^[1-9]\d{0,3}$/.test(said) ? Number(said) : DEFAULT_WIDTH;
  }
}
