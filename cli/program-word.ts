/** The first words of both programs' commands. */
const firstWords =
  "init|uninstall|doctor|start|stop|status|run|open|report|explain|project|bodies|cloud|sync|pricing|recompute-costs|prune|wipe|serve|migrate|admin|rates|ledger";

/** A program's name before a command of its own, unless it has `npx` before it or is part of something else. */
const commandInText = new RegExp(
  `(?<!npx |the |[\\w/.-])meter(?=(?:-cloud)? (?:${firstWords})(?![\\w-]))`,
  "g",
);

/** The scripts of `package.json` that leave somebody at a prompt in the clone's folder. */
const scripts: ReadonlySet<string | undefined> = new Set(["cloud", "demo"]);

/**
 * What a person types to run this program, for commands that are shown to be pasted: in a clone that is `npx meter`, where
 * it was run so.
 */
function programWord(env: Readonly<Record<string, string | undefined>>): string {
  const isClone = import.meta.url.endsWith(".ts");
  const byNpm = env.npm_command === "exec" || scripts.has(env.npm_lifecycle_event);
  return isClone && byNpm ? "npx meter" : "meter";
}

/** A text whose commands stand as a person types them here. */
export function toPaste(text: string, env: Readonly<Record<string, string | undefined>>): string {
  const word = programWord(env);
  return word === "meter" ? text : text.replaceAll(commandInText, word);
}
