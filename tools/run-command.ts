import { execFileSync, spawn } from "node:child_process";
import process from "node:process";

/** How a command ended. */
interface CommandResult {
  ok: boolean;
  seconds: number;
  /** Why it failed, such as `exit code 1` or `stopped after 5 minutes`. */
  reason: string | null;
}

/**
 * Runs a shell command with this process's output. After `limitMs`, kills the command and all processes that it started, so
 * that the caller never hangs. When the command has exited, kills what is left of its process group.
 */
export async function runCommand(
  command: string,
  limitMs: number,
  env: Readonly<Record<string, string>> = {},
  limit: AbortSignal = AbortSignal.timeout(limitMs),
): Promise<CommandResult> {
  const started = performance.now();
  const child = spawn(command, {
    shell: true,
    stdio: "inherit",
    // Its own process group, so that the whole group can be killed.
    detached: process.platform !== "win32",
    env: { ...process.env, ...env },
  });
  const stop = () => killTree(child.pid);
  limit.addEventListener("abort", stop);
  const interrupt = () => {
    killTree(child.pid);
    process.exit(130);
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  const reason = await new Promise<string | null>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    // Not "close": a surviving process could hold the output open.
    child.on("exit", (code, signal) =>
      resolve(code === 0 ? null : signal === null ? `exit code ${code}` : signal),
    );
  });
  limit.removeEventListener("abort", stop);
  process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  if (process.platform !== "win32" && child.pid !== undefined) kill(-child.pid);
  const seconds = (performance.now() - started) / 1000;
  if (limit.aborted)
    return { ok: false, seconds, reason: `stopped after its limit of ${limitMs / 60_000} minutes` };
  return { ok: reason === null, seconds, reason };
}

/** Kills a process, its descendants and their process groups. */
export function killTree(root: number | undefined): void {
  if (root === undefined) return;
  for (const pid of process.platform === "win32" ? [root] : [...descendantsOf(root), -root, root]) kill(pid);
}

/** Kills a process, or a process group if the number is negative. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has exited.
  }
}

function descendantsOf(root: number): number[] {
  const rows = readProcessTable();
  const found = [root];
  for (const parent of found) for (const [pid = 0, ppid] of rows) if (ppid === parent) found.push(pid);
  return found.slice(1);
}

/** Returns the `[pid, parent pid]` of every process; empty if `ps` is missing. */
function readProcessTable(): number[][] {
  try {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
    return lines.map((line) => line.trim().split(/\s+/).map(Number));
  } catch {
    return [];
  }
}
