/** The first words of both programs' commands. */
const firstWords = [
  "init",
  "uninstall",
  "doctor",
  "self-test",
  "start",
  "stop",
  "status",
  "run",
  "provider",
  "webhook",
  "open",
  "report",
  "cost",
  "trailers",
  "pr-comment",
  "coverage",
  "statusline",
  "top",
  "limits",
  "savings",
  "budget",
  "requests",
  "sessions",
  "session",
  "export",
  "explain",
  "import",
  "reconcile",
  "project",
  "bodies",
  "cloud",
  "sync",
  "pricing",
  "estimates",
  "recompute-costs",
  "prune",
  "wipe",
  "serve",
  "migrate",
  "admin",
  "rates",
  "ledger",
  "purge",
  "backup",
  "restore",
  "withdrawals",
  "erase",
].join("|");

/** Matches a program's name before one of its commands, unless it is part of a longer command or of another word. */
const commandInText = new RegExp(
  `(?<!npx |--no-install |@llm-meter/meter |the |[\\w/.-])(meter(?:-cloud)?)(?= (?:${firstWords})(?![\\w-]))`,
  "g",
);

/** The scripts of `package.json` whose output is read at a prompt in the clone's folder. */
const scripts: ReadonlySet<string | undefined> = new Set(["cloud", "demo"]);

/**
 * Returns what a person types to run a program, so that shown commands can be pasted. npx always gets `--no-install` or the
 * package's full name: outside the clone, it would otherwise run another owner's package called `meter`.
 */
function typedName(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
  isClone: boolean,
): string {
  if (isClone) {
    const byNpm = env.npm_command === "exec" || scripts.has(env.npm_lifecycle_event);
    return byNpm ? `npx --no-install ${program}` : program;
  }
  if (env.npm_command !== "exec") return program;
  return program === "meter" ? "npx @llm-meter/meter" : `npx --package @llm-meter/meter ${program}`;
}

/** Replaces the program's name in the commands of a text by what a person types here. */
export function withProgramName(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  isClone = import.meta.url.endsWith(".ts"),
): string {
  return text.replaceAll(commandInText, (program) => typedName(program, env, isClone));
}
