import process from "node:process";
import { Builtins, Cli, type CommandClass } from "clipanion";
import { exitCodes } from "./exit-codes.ts";
import { MeterCli, type Program } from "./meter-cli.ts";

/** The streams and the environment of a command. */
export interface MainContext {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  env: Record<string, string | undefined>;
}

/** Runs a command line and returns the exit code. Uses the streams and the environment of this process by default. Never throws. */
export async function runProgram(
  program: Program,
  commands: readonly CommandClass[],
  words: readonly string[],
  { stdout, stderr, env }: MainContext = process,
): Promise<number> {
  const cli = new MeterCli(program, "isTTY" in stdout && stdout.isTTY === true && !env.NO_COLOR);
  for (const command of [Builtins.HelpCommand, Builtins.VersionCommand, ...commands]) cli.register(command);
  // A reader that closes early, as in `meter report | head`, is not a failure; a full disk is.
  let unwritten: Error | null = null;
  stdout.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EPIPE") unwritten ??= cause;
  });
  // Messages that can't be written must not end a command halfway, or the daemon, whose terminal may be closed.
  stderr.on("error", () => {});
  const context = {
    ...Cli.defaultContext,
    stdout,
    stderr: withoutThrowing(stderr),
    env,
  } as typeof Cli.defaultContext;
  try {
    const groupHelp = cli.groupHelp(words);
    if (groupHelp !== null) stdout.write(groupHelp);
    const code = groupHelp === null ? await cli.run(cli.process([...words], context), context) : exitCodes.ok;
    // An error of a write is known only after the last write has finished.
    await new Promise<void>((resolve) => stdout.write("", () => resolve()));
    if (unwritten === null) return code;
    stderr.write(`${program.name}: The output can't be written: ${(unwritten as Error).message}.\n`);
    return exitCodes.failed;
  } catch (cause) {
    stderr.write(await cli.explain(cause));
    return exitCodes.usage;
  }
}

/** Wraps a stream so that `write` never throws: Deno 2.9 throws where Node emits `error`. */
function withoutThrowing(stream: NodeJS.WritableStream): NodeJS.WritableStream {
  const write = (text: string) => {
    try {
      return stream.write(text);
    } catch {
      return true;
    }
  };
  return Object.create(stream, { write: { value: write } });
}
