import { basename } from "node:path";
import type { ProcessTable } from "../../core/ports/process-table.ts";
import { commandLinesOf, PROJECT_VARIABLE, type ProcessRow } from "./process-facts.ts";
import { type RunCommand, runCommand } from "./run-command.ts";

/** The holder of the client's end in `lsof -Fpn` (lsof(8), "Output for other programs"): `p<pid>`, then `n<addresses>`. */
export function readLsofConnections(
  output: string,
  clientPort: number,
  proxyPort: number | null,
): number | null {
  let pid = 0;
  for (const line of output.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    const [, local, remote] = /^n\S*:(\d+)->\S*:(\d+)$/.exec(line) ?? [];
    if (Number(local) === clientPort && (proxyPort === null || Number(remote) === proxyPort)) return pid;
  }
  return null;
}

/** The working directory in `lsof -d cwd -Fn`. */
function readLsofCwd(output: string): string | null {
  return /^n(\/.*)$/m.exec(output)?.[1] ?? null;
}

/**
 * The processes in `ps -axww -o pid=,ppid=,command=` and `ps -axww -o pid=,comm=`. `ps` prints a command line as one
 * text; the second output says how much of it is the program's path, which may hold spaces. The words after it are cut
 * at spaces, so that an argument with a space in it is several.
 */
export function readPs(commands: string, programs: string): Map<number, ProcessRow> {
  const programOf = new Map<number, string>();
  for (const [, pid, program] of programs.matchAll(/^ *(\d+) +(.+?) *$/gm)) {
    programOf.set(Number(pid), program as string);
  }
  const rows = new Map<number, ProcessRow>();
  for (const [, pid, parent, command] of commands.matchAll(/^ *(\d+) +(\d+) +(.*?) *$/gm)) {
    const line = command as string;
    const program = programOf.get(Number(pid));
    const words =
      program !== undefined && (line === program || line.startsWith(`${program} `))
        ? [program, ...line.slice(program.length).split(" ")].filter((word) => word !== "")
        : line.split(" ").filter((word) => word !== "");
    rows.set(Number(pid), { pid: Number(pid), parent: Number(parent), words });
  }
  return rows;
}

/** The project in `ps -Eww -o command= -p PID`, where the environment follows the command line on the same line. */
export function readPsEnvironment(output: string, command: string): string | null {
  const environment = output.startsWith(command) ? output.slice(command.length) : output;
  const value = new RegExp(
    `(?:^|\\s)${PROJECT_VARIABLE}=(.*?)(?=\\s[A-Za-z_][A-Za-z0-9_]*=|\\s*$)`,
    "s",
  ).exec(environment);
  return value?.[1] ?? null;
}

/** The process table of macOS, through `lsof` and `ps`. Other users' processes and protected programs stay unknown. */
export function createMacosProcessTable(run: RunCommand = runCommand): ProcessTable {
  const attempt = (program: string, words: readonly string[]): Promise<string> =>
    run(program, words).catch(() => "");
  return {
    async lookup({ clientPort, proxyPort }) {
      const connections = await attempt("lsof", ["-nP", `-iTCP:${clientPort}`, "-sTCP:ESTABLISHED", "-Fpn"]);
      const pid = readLsofConnections(connections, clientPort, proxyPort);
      if (pid === null) return null;
      const [cwd, commands, programs, command, environment] = await Promise.all([
        attempt("lsof", ["-a", "-p", `${pid}`, "-d", "cwd", "-Fn"]),
        attempt("ps", ["-axww", "-o", "pid=,ppid=,command="]),
        attempt("ps", ["-axww", "-o", "pid=,comm="]),
        attempt("ps", ["-ww", "-o", "command=", "-p", `${pid}`]),
        attempt("ps", ["-Eww", "-o", "command=", "-p", `${pid}`]),
      ]);
      const rows = readPs(commands, programs);
      const program = rows.get(pid)?.words[0];
      return {
        pid,
        processName: program === undefined ? null : basename(program),
        commandLines: commandLinesOf(rows, pid),
        environmentProject: readPsEnvironment(environment, command.trimEnd()),
        cwd: readLsofCwd(cwd),
      };
    },
  };
}
