import { stderr, stdout } from "node:process";
import { Builtins, Cli } from "clipanion";
import { commands } from "./commands/mod.ts";
import { exitCodes } from "./exit-codes.ts";
import { version } from "./version.ts";

/** Runs the words of a command line and gives the exit code. Never throws. */
export async function main(words: readonly string[]): Promise<number> {
  const cli = new Cli({ binaryLabel: "meter", binaryName: "meter", binaryVersion: version });
  for (const command of [Builtins.HelpCommand, Builtins.VersionCommand, ...commands]) cli.register(command);
  // A reader that closes early (`meter report | head`) is no failure.
  stdout.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EPIPE") throw cause;
  });
  try {
    const command = cli.process([...words], Cli.defaultContext);
    return await cli.run(command, Cli.defaultContext);
  } catch (cause) {
    stderr.write(cli.error(cause instanceof Error ? cause : new Error(String(cause))));
    return exitCodes.usage;
  }
}
