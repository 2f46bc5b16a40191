/** The first words of both programs' commands. */
const firstWords =
  "init|uninstall|doctor|start|stop|status|run|open|report|coverage|requests|explain|project|bodies|cloud|sync|pricing|estimates|recompute-costs|prune|wipe|serve|migrate|admin|rates|ledger";

/** Matches `meter` before one of its commands, unless it follows `npx` or is part of another word. */
const commandInText = new RegExp(
  `(?<!npx |the |[\\w/.-])meter(?=(?:-cloud)? (?:${firstWords})(?![\\w-]))`,
  "g",
);

/** The scripts of `package.json` whose output is read at a prompt in the clone's folder. */
const scripts: ReadonlySet<string | undefined> = new Set(["cloud", "demo"]);

/**
 * Returns what a person types to run this program: `npx meter` in a clone if npm runs it, otherwise `meter`. Shown commands
 * can then be pasted.
 */
function programWord(env: Readonly<Record<string, string | undefined>>): string {
  const isClone = import.meta.url.endsWith(".ts");
  const byNpm = env.npm_command === "exec" || scripts.has(env.npm_lifecycle_event);
  return isClone && byNpm ? "npx meter" : "meter";
}

/** Replaces the program's name in the commands of a text by what a person types here. */
export function withProgramName(text: string, env: Readonly<Record<string, string | undefined>>): string {
  const word = programWord(env);
  return word === "meter" ? text : text.replaceAll(commandInText, word);
}
