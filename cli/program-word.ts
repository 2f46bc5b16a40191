/**
 * What a person types to run this program, for commands that are shown to be pasted: in a clone that is `npx meter`, where
 * it was run so.
 */
export function programWord(env: Readonly<Record<string, string | undefined>>): string {
  const isClone = import.meta.url.endsWith(".ts");
  return isClone && env.npm_command === "exec" ? "npx meter" : "meter";
}

/** A command line with the program's name as a person types it here. */
export const toPaste = (command: string, env: Readonly<Record<string, string | undefined>>): string =>
  command.replaceAll(/(?<=^|&& )meter(?= )/g, programWord(env));
