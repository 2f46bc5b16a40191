import { basename } from "node:path";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { type AnswerBatch, UNKNOWN_CALLER } from "./caller-query.ts";
import { commandLinesOf, type EnvironmentFacts, environmentFacts, type ProcessRow } from "./process-facts.ts";
import type { RunCommand } from "./run-command.ts";

/**
 * Finds the process at the client end in the output of `lsof -Fpn` (lsof(8), "Output for other programs"): `p<pid>`, then
 * `n<addresses>`.
 */
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

/** Parses the working directories in the output of `lsof -d cwd -Fn`, by pid. */
function readLsofCwds(output: string): Map<number, string> {
  const cwds = new Map<number, string>();
  let pid = 0;
  for (const line of output.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    else if (line.startsWith("n/")) cwds.set(pid, line.slice(1));
  }
  return cwds;
}

/**
 * Parses the processes in `ps -axww -o pid=,ppid=,command=` and `ps -axww -o pid=,comm=`. `ps` prints a command line as one
 * text. The second output tells which part of it is the program's path, which may contain spaces. The rest is split at
 * spaces, so an argument that contains spaces becomes several.
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

/** Reads the output of `ps -Eww -o command= -p PID`, where the environment follows the command line on the same line. */
export function readPsEnvironment(output: string, command: string): EnvironmentFacts {
  const environment = output.startsWith(command) ? output.slice(command.length) : output;
  return environmentFacts((variable) => {
    const value = new RegExp(`(?:^|\\s)${variable}=(.*?)(?=\\s[A-Za-z_][A-Za-z0-9_]*=|\\s*$)`, "s");
    return value.exec(environment)?.[1];
  });
}

/** Parses the output of `ps -o pid=,…` into texts by pid. A value with line breaks continues over several lines. */
function readByPid(output: string, pids: readonly number[]): Map<number, string> {
  const texts = new Map<number, string>();
  let current = 0;
  for (const line of output.split("\n")) {
    const [, pid, rest = ""] = /^ *(\d+) +(.*)$/.exec(line) ?? [];
    const starts = pid !== undefined && pids.includes(Number(pid)) && !texts.has(Number(pid));
    if (starts) current = Number(pid);
    texts.set(current, starts ? rest : `${texts.get(current) ?? ""}\n${line}`);
  }
  return texts;
}

/**
 * Creates a function that answers batches with `lsof` and `ps`, which run once per batch. Other users' processes and
 * protected programs stay unknown.
 */
export function answerOnMacos(run: RunCommand): AnswerBatch {
  const attempt = (program: string, words: readonly string[]): Promise<string> =>
    run(program, words).catch(() => "");
  return async (queries) => {
    const ports = [...new Set(queries.map(({ clientPort }) => clientPort))].join(",");
    const connections = await attempt("lsof", ["-nP", `-iTCP:${ports}`, "-sTCP:ESTABLISHED", "-Fpn"]);
    const found = queries.map((query) =>
      readLsofConnections(connections, query.clientPort, query.serverPort),
    );
    const pids = [...new Set(found)].filter((pid) => pid !== null);
    if (pids.length === 0) return queries.map(() => UNKNOWN_CALLER);
    const list = pids.join(",");
    const [cwds, processes, programs, commands, environments] = await Promise.all([
      attempt("lsof", ["-a", "-p", list, "-d", "cwd", "-Fn"]).then(readLsofCwds),
      attempt("ps", ["-axww", "-o", "pid=,ppid=,command="]),
      attempt("ps", ["-axww", "-o", "pid=,comm="]),
      attempt("ps", ["-ww", "-o", "pid=,command=", "-p", list]).then((output) => readByPid(output, pids)),
      attempt("ps", ["-Eww", "-o", "pid=,command=", "-p", list]).then((output) => readByPid(output, pids)),
    ]);
    const rows = readPs(processes, programs);
    const factsOf = (pid: number): ProcessFacts => {
      const program = rows.get(pid)?.words[0];
      return {
        pid,
        processName: program === undefined ? null : basename(program),
        commandLines: commandLinesOf(rows, pid),
        ...readPsEnvironment(environments.get(pid) ?? "", (commands.get(pid) ?? "").trimEnd()),
        cwd: cwds.get(pid) ?? null,
      };
    };
    return found.map((pid) => ({ uid: null, process: pid === null ? null : factsOf(pid) }));
  };
}
