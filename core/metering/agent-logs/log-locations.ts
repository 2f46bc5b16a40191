import type { LogAgent } from "./log-entry.ts";
import type { LogFormatName } from "./log-formats.ts";

/** A folder that may contain logs of an agent. */
export interface LogLocation {
  readonly agent: LogAgent;
  readonly format: LogFormatName;
  readonly folder: string;
  /** The files, by their paths relative to the folder, with `/` between folders. */
  readonly files: RegExp;
}

/** A folder that may contain files in which an agent reports its own usage by OpenTelemetry. */
export type ReportLocation = Pick<LogLocation, "folder" | "files">;

/** What determines where agents write: see `logLocations()`. */
export interface LogPlaces {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** As Node names it: `linux`, `darwin`, `win32`, … */
  readonly platform: string;
}

/** The programs built on VS Code that extensions run in. */
const EDITORS = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/** The folders of their servers on remote machines. */
const EDITOR_SERVERS = [".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"];

/**
 * Returns the folders in which the agents write, on this platform and with their own variables. A folder that a variable names is
 * searched in addition to the usual one, because it may have been set later. The folders need not exist.
 */
export function logLocations(places: LogPlaces): LogLocation[] {
  const { env, home, platform } = places;
  const separator = platform === "win32" ? "\\" : "/";
  const join = (...parts: string[]) => parts.join(separator);
  const own = (variable: string, ...usual: string[]) => {
    const stated = env[variable];
    return stated === undefined || stated === "" ? usual : [...new Set([stated, ...usual])];
  };
  const dataHomes = own("XDG_DATA_HOME", join(home, ".local", "share"));
  const configHomes = own("XDG_CONFIG_HOME", join(home, ".config"));
  const inData = (...parts: string[]) => dataHomes.map((folder) => join(folder, ...parts));
  const at = (agent: LogAgent, format: LogFormatName, folders: readonly string[], files: RegExp) =>
    folders.map((folder): LogLocation => ({ agent, format, folder, files }));
  const inEach = (folders: readonly string[], ...parts: string[]) =>
    folders.map((folder) => join(folder, ...parts));

  const claude = own("CLAUDE_CONFIG_DIR", join(home, ".claude"), ...inEach(configHomes, "claude"));
  const codex = own("CODEX_HOME", join(home, ".codex"));
  const gemini = inEach(own("GEMINI_CLI_HOME", home), ".gemini", "tmp");
  const kilo = own("KILO_DATA_DIR", ...inData("kilo"));
  const tasks = (extension: string) =>
    editorStorage(places, join, configHomes).map((folder) => join(folder, extension, "tasks"));
  const taskFile = /^[^/]+\/ui_messages\.json$/;
  return [
    ...at("claude", "claude", inEach(claude, "projects"), /\.jsonl$/),
    ...at("codex", "codex", inEach(codex, "sessions"), /(?:^|\/)rollout-[^/]+\.jsonl$/),
    ...at("codex", "codex", inEach(codex, "archived_sessions"), /(?:^|\/)rollout-[^/]+\.jsonl$/),
    ...at("gemini", "gemini", gemini, /^[^/]+\/chats\/.+\.jsonl$/),
    ...at("gemini", "gemini_document", gemini, /^[^/]+\/chats\/.+\.json$/),
    ...at("opencode", "opencode", inData("opencode"), /^opencode[^/]*\.db$/),
    ...at("opencode", "opencode_document", inData("opencode", "storage", "message"), /\.json$/),
    ...at("qwen", "qwen", [join(home, ".qwen", "projects")], /(?:^|\/)chats\/[^/]+\.jsonl$/),
    ...at(
      "copilot",
      "copilot",
      inEach(own("COPILOT_HOME", join(home, ".copilot")), "session-state"),
      /^[^/]+\/events\.jsonl$/,
    ),
    ...at("goose", "goose", gooseFolders(places, join, dataHomes), /^sessions\.db$/),
    ...at("amp", "amp", inData("amp", "threads"), /^T-[^/]+\.json$/),
    ...at(
      "cline",
      "cline",
      inEach(own("CLINE_DATA_DIR", join(home, ".cline", "data")), "sessions"),
      /^[^/]+\/[^/]+\.messages\.json$/,
    ),
    ...at("cline", "cline_tasks", tasks("saoudrizwan.claude-dev"), taskFile),
    ...at("roo", "roo", tasks("rooveterinaryinc.roo-cline"), taskFile),
    ...at("kilo", "kilo", kilo, /^kilo[^/]*\.db$/),
    ...at("kilo", "kilo_tasks", tasks("kilocode.kilo-code"), taskFile),
    ...at("pi", "pi", inEach(own("PI_CODING_AGENT_DIR", join(home, ".pi", "agent")), "sessions"), /\.jsonl$/),
    ...at("droid", "droid", [join(home, ".factory", "sessions")], /\.settings\.json$/),
  ];
}

/**
 * Returns the folders with the files that Copilot CLI writes if it reports its usage to files. `COPILOT_OTEL_FILE_EXPORTER_PATH` names
 * one file.
 */
export function reportLocations({ env, home, platform }: LogPlaces): ReportLocation[] {
  const separator = platform === "win32" ? "\\" : "/";
  const stated = env.COPILOT_OTEL_FILE_EXPORTER_PATH ?? "";
  const cut = Math.max(stated.lastIndexOf("/"), stated.lastIndexOf(separator));
  const name = stated.slice(cut + 1).replace(/[^\w]/g, "\\$&");
  const homes = [env.COPILOT_HOME ?? "", [home, ".copilot"].join(separator)];
  return [
    ...homes
      .filter((folder) => folder !== "")
      .map((folder) => ({ folder: [folder, "otel"].join(separator), files: /\.jsonl$/ })),
    // A name without a folder is relative to where Copilot ran, which is not known.
    ...(cut < 1 ? [] : [{ folder: stated.slice(0, cut), files: new RegExp(`^${name}$`) }]),
  ];
}

type Join = (...parts: string[]) => string;

/** The folders in which extensions of editors store files. */
function editorStorage(
  { env, home, platform }: LogPlaces,
  join: Join,
  configHomes: readonly string[],
): string[] {
  const roots =
    platform === "darwin"
      ? [join(home, "Library", "Application Support")]
      : platform === "win32"
        ? [env.APPDATA ?? join(home, "AppData", "Roaming")]
        : configHomes;
  return [
    ...roots.flatMap((root) => EDITORS.map((editor) => join(root, editor, "User", "globalStorage"))),
    ...EDITOR_SERVERS.map((server) => join(home, server, "data", "User", "globalStorage")),
  ];
}

function gooseFolders(
  { env, home, platform }: LogPlaces,
  join: Join,
  dataHomes: readonly string[],
): string[] {
  const root = env.GOOSE_PATH_ROOT;
  const stated = root === undefined || root === "" ? [] : [join(root, "data", "sessions")];
  if (platform === "darwin") stated.push(join(home, "Library", "Application Support", "goose", "sessions"));
  if (platform === "win32")
    stated.push(join(env.APPDATA ?? join(home, "AppData", "Roaming"), "Block", "goose", "data", "sessions"));
  return [...stated, ...dataHomes.map((folder) => join(folder, "goose", "sessions"))];
}
