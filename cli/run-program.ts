import process from "node:process";
import { Builtins, Cli, type CommandClass } from "clipanion";
import { exitCodes } from "./exit-codes.ts";
import { MeterCli, type Program } from "./meter-cli.ts";

/** Where the words of a command go and what it knows of its surroundings; the process's own where left out. */
export interface MainContext {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  env: Record<string, string | undefined>;
}

/** Runs the words of a command line and gives the exit code. Never throws. */
export async function runProgram(
  program: Program,
  commands: readonly CommandClass[],
  words: readonly string[],
  { stdout, stderr, env }: MainContext = process,
): Promise<number> {
  const cli = new MeterCli(program, "isTTY" in stdout && stdout.isTTY === true && !env.NO_COLOR);
  for (const command of [Builtins.HelpCommand, Builtins.VersionCommand, ...commands]) cli.register(command);
  // A reader that closes early (`meter report | head`) is no failure; a disk that is full is one.
  let unwritten: Error | null = null;
  stdout.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EPIPE") unwritten ??= cause;
  });
  // What can't be told ends neither a command half done nor the daemon, whose terminal may be closed or its disk full.
  stderr.on("error", () => {});
  const context = { ...Cli.defaultContext, stdout, stderr, env } as typeof Cli.defaultContext;
  try {
    const code = await cli.run(cli.process([...words], context), context);
    // Whether it could be written is known once all of it is.
    await new Promise<void>((resolve) => stdout.write("", () => resolve()));
    if (unwritten === null) return code;
    stderr.write(`${program.name}: the output can't be written: ${(unwritten as Error).message}\n`);
    return exitCodes.failed;
  } catch (cause) {
    stderr.write(await cli.explain(cause));
    return exitCodes.usage;
  }
}
