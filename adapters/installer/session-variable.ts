import type { RunProgram } from "./run-program.ts";

type Scope = "launchd" | "registry";

const REGISTRY_KEY = "HKCU\\Environment";

/** Reads a variable of the session or the user; null if it is not set. */
export async function readVariable(run: RunProgram, scope: Scope, name: string): Promise<string | null> {
  if (scope === "launchd") {
    const { stdout } = await run(["launchctl", "getenv", name]);
    const value = stdout.replace(/\n$/, "");
    return value === "" ? null : value;
  }
  const { code, stdout } = await run(["reg", "query", REGISTRY_KEY, "/v", name]);
  if (code !== 0) return null;
  return /^ {4}.+? {4}REG_(?:EXPAND_)?SZ {4}(.*?)\r?$/m.exec(stdout)?.[1] ?? null;
}

/** Sets the variable; null unsets it. Rejects if the system refuses. */
export async function writeVariable(
  run: RunProgram,
  scope: Scope,
  name: string,
  value: string | null,
): Promise<void> {
  const words =
    scope === "launchd"
      ? value === null
        ? ["launchctl", "unsetenv", name]
        : ["launchctl", "setenv", name, value]
      : value === null
        ? ["reg", "delete", REGISTRY_KEY, "/v", name, "/f"]
        : ["setx", name, value];
  const { code, stderr } = await run(words);
  if (code !== 0) throw new Error(`${words.slice(0, 3).join(" ")}: ${stderr.trim() || `ended with ${code}`}`);
}
