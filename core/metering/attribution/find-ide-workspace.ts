import { baseName, isAbsolutePath, isWithin } from "./file-path.ts";

/** Editors of the VS Code family, by program name or by application folder on macOS. */
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

/** JetBrains products and Android Studio. The names of their 64-bit launchers end in `64`. */
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

/** The main class of JetBrains products that are started with plain `java`. The project path follows it. */
const JETBRAINS_MAIN = "com.intellij.idea.Main";

/** Flags of any program (editors, their agents, dev containers) whose value is a workspace. */
const WORKSPACE_FLAGS = new Set(["--folder-uri", "--file-uri", "--workspace", "--workspace-folder"]);

/** Flags of the VS Code family whose value is a path but not a workspace. `-d` takes two files; the second has a dot. */
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

type EditorFamily = "code" | "jetbrains";

function editorFamily(program: string): EditorFamily | null {
  const application = /([^/]+)\.app\/Contents\//.exec(program)?.[1];
  const names = [baseName(program).replace(/\.(?:exe|sh|cmd)$/i, ""), application ?? ""];
  for (const name of names.map((each) => each.toLowerCase())) {
    if (CODE_FAMILY.has(name)) return "code";
    if (JETBRAINS.has(name.replace(/64$/, "").replace(/ (?:ce|community|ultimate).*$/, "")))
      return "jetbrains";
  }
  return null;
}

/** Returns the path in a flag's value, which is a plain path or a `file:` or `vscode-remote:` URI. */
function toPath(value: string): string | null {
  const uri = /^(?:file|vscode-remote):\/\/[^/]*(\/.*)$/s.exec(value)?.[1];
  if (uri === undefined) return isAbsolutePath(value) ? value : null;
  let path: string;
  try {
    path = decodeURIComponent(uri);
  } catch {
    return null;
  }
  // In a URI, the drive of a Windows path follows a slash: `/c:/Users/…`.
  return path.replace(/^\/(?=[A-Za-z]:)/, "");
}

function workspaceFromFlags(words: readonly string[]): string | null {
  for (const [index, word] of words.entries()) {
    const equals = word.indexOf("=");
    const flag = equals === -1 ? word : word.slice(0, equals);
    if (!WORKSPACE_FLAGS.has(flag)) continue;
    const path = toPath(equals === -1 ? (words[index + 1] ?? "") : word.slice(equals + 1));
    if (path !== null) return path;
  }
  return null;
}

/** Returns the folder or workspace file that an editor was opened with as a plain argument. */
function workspaceFromPath(words: readonly string[], cwd: string | null): string | null {
  const main = words.indexOf(JETBRAINS_MAIN);
  const family = main === -1 ? editorFamily(words[0] ?? "") : "jetbrains";
  // Helper processes of an editor have a `--type`, and their paths are not workspaces.
  if (family === null || words.some((word) => word.startsWith("--type="))) return null;
  for (let index = Math.max(main, 0) + 1; index < words.length; index += 1) {
    const word = words[index] as string;
    if (!isAbsolutePath(word)) continue;
    if (PATH_FLAGS.has(words[index - 1] as string)) continue;
    // A name with a dot is taken for a file, unless the process runs inside it.
    const isFolder = !/[^.]\.[^.]/.test(baseName(word)) || (cwd !== null && isWithin(cwd, word));
    if (isFolder || word.endsWith(".code-workspace")) return word;
  }
  return null;
}

/**
 * Finds the folder or workspace file that an editor of the VS Code or JetBrains family has open, in the command lines of a
 * process and its parents, nearest first: `--folder-uri file:///…`, `--workspace …`, or a plain path.
 *
 * Decision: one editor process serves several windows, but its command line shows only the first folder. If the working
 * directory is in a Git repository, a folder that does not contain it is skipped.
 */
export function findIdeWorkspace(
  commandLines: readonly (readonly string[])[],
  cwd: string | null,
  gitRoot: string | null,
): string | null {
  for (const words of commandLines) {
    const workspace = workspaceFromFlags(words) ?? workspaceFromPath(words, cwd);
    if (workspace === null) continue;
    if (gitRoot === null || cwd === null || isWithin(cwd, workspaceFolder(workspace))) return workspace;
  }
  return null;
}

/** Returns the name of a workspace: the folder name, or the file name without its extension. */
export function workspaceName(workspace: string): string {
  return baseName(workspace).replace(/\.code-workspace$/, "");
}

/** Returns the folder of a workspace: the folder itself, or the one with the workspace file. */
export function workspaceFolder(workspace: string): string {
  return workspace.endsWith(".code-workspace") ? workspace.replace(/[^/\\]*$/, "") : workspace;
}
