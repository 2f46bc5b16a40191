import { baseName, isAbsolutePath, isWithin } from "./file-path.ts";

/** Editors of the VS Code family, by the name of their program or their application folder on macOS. */
const CODE_FAMILY = new Set([
  "code",
  "code-insiders",
  "code-oss",
  "codium",
  "vscodium",
  "cursor",
  "windsurf",
  "positron",
  "trae",
  "kiro",
  "antigravity",
  "visual studio code",
  "visual studio code - insiders",
]);

/** JetBrains' products and Android Studio. Their 64-bit launchers end in `64`. */
const JETBRAINS = new Set([
  "idea",
  "pycharm",
  "webstorm",
  "phpstorm",
  "goland",
  "rubymine",
  "clion",
  "rider",
  "rustrover",
  "datagrip",
  "dataspell",
  "studio",
  "intellij idea",
]);

/** JetBrains' products started by a plain `java`: the project follows the main class. */
const JETBRAINS_MAIN = "com.intellij.idea.Main";

/** Flags that name a workspace, whatever program they stand on: editors, their agents, dev containers. */
const WORKSPACE_FLAGS = new Set(["--folder-uri", "--file-uri", "--workspace", "--workspace-folder"]);

/** Flags of the VS Code family that take a path that is no workspace; `-d` takes two, of which the second has a dot. */
const PATH_FLAGS = new Set([
  "--user-data-dir",
  "--extensions-dir",
  "--crash-reporter-directory",
  "--extensionDevelopmentPath",
  "--extensionTestsPath",
  "--add",
  "--goto",
  "-g",
  "--diff",
  "-d",
  "--merge",
  "-m",
]);

type Family = "code" | "jetbrains";

function familyOf(program: string): Family | null {
  const application = /([^/]+)\.app\/Contents\//.exec(program)?.[1];
  const names = [baseName(program).replace(/\.(?:exe|sh|cmd)$/i, ""), application ?? ""];
  for (const name of names.map((each) => each.toLowerCase())) {
    if (CODE_FAMILY.has(name)) return "code";
    if (JETBRAINS.has(name.replace(/64$/, "").replace(/ (?:ce|community|ultimate).*$/, "")))
      return "jetbrains";
  }
  return null;
}

/** The path that a flag's value names: a path as it is, or the path of a `file:` or `vscode-remote:` URI. */
function toPath(value: string): string | null {
  const uri = /^(?:file|vscode-remote):\/\/[^/]*(\/.*)$/s.exec(value)?.[1];
  if (uri === undefined) return isAbsolutePath(value) ? value : null;
  let path: string;
  try {
    path = decodeURIComponent(uri);
  } catch {
    return null;
  }
  // `/c:/Users/…`: the drive of a Windows path stands behind a slash in a URI.
  return path.replace(/^\/(?=[A-Za-z]:)/, "");
}

function flagged(words: readonly string[]): string | null {
  for (const [index, word] of words.entries()) {
    const equals = word.indexOf("=");
    const flag = equals === -1 ? word : word.slice(0, equals);
    if (!WORKSPACE_FLAGS.has(flag)) continue;
    const path = toPath(equals === -1 ? (words[index + 1] ?? "") : word.slice(equals + 1));
    if (path !== null) return path;
  }
  return null;
}

/** The folder or workspace file that an editor was opened with by its bare path. */
function positional(words: readonly string[], cwd: string | null): string | null {
  const main = words.indexOf(JETBRAINS_MAIN);
  const family = main === -1 ? familyOf(words[0] ?? "") : "jetbrains";
  // The helper processes of an editor carry a type, and paths that are no workspace.
  if (family === null || words.some((word) => word.startsWith("--type="))) return null;
  for (let index = Math.max(main, 0) + 1; index < words.length; index += 1) {
    const word = words[index] as string;
    if (!isAbsolutePath(word)) continue;
    if (PATH_FLAGS.has(words[index - 1] as string)) continue;
    // A name with a dot in it is a file, unless the process works below it: then it can only be a folder.
    const isFolder = !/[^.]\.[^.]/.test(baseName(word)) || (cwd !== null && isWithin(cwd, word));
    if (isFolder || word.endsWith(".code-workspace")) return word;
  }
  return null;
}

/**
 * The folder or workspace file that an editor of the VS Code or JetBrains family has open, from the command lines of a
 * process and its parents, nearest first: `--folder-uri file:///…`, `--workspace …`, or the path by itself.
 *
 * Decision: one editor process serves several windows and shows only the first one's folder. A folder that does not hold
 * the working directory is therefore not taken when the working directory lies in a repository of its own.
 */
export function findIdeWorkspace(
  commandLines: readonly (readonly string[])[],
  cwd: string | null,
  gitRoot: string | null,
): string | null {
  for (const words of commandLines) {
    const workspace = flagged(words) ?? positional(words, cwd);
    if (workspace === null) continue;
    const folder = workspace.endsWith(".code-workspace") ? workspace.replace(/[^/\\]*$/, "") : workspace;
    if (gitRoot === null || cwd === null || isWithin(cwd, folder)) return workspace;
  }
  return null;
}

/** The name of a workspace: its folder's, or its file's without the ending. */
export function workspaceName(workspace: string): string {
  return baseName(workspace).replace(/\.code-workspace$/, "");
}
