import { win32 } from "node:path";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { type AnswerBatch, UNKNOWN_CALLER } from "./caller-query.ts";
import { commandLinesOf, type ProcessRow } from "./process-facts.ts";
import type { RunCommand } from "./run-command.ts";

/**
 * Finds the process at the client end in the output of `netstat -ano`. The state's name is localised, so only the ports are
 * compared. A row has five fields: protocol, local address, foreign address, state, pid.
 */
export function readNetstat(output: string, clientPort: number, proxyPort: number | null): number | null {
  for (const line of output.split("\n")) {
    const [protocol, local, remote, , pid] = line.trim().split(/\s+/);
    if (protocol !== "TCP" || pid === undefined || local?.endsWith(`:${clientPort}`) !== true) continue;
    if (proxyPort === null || remote?.endsWith(`:${proxyPort}`) === true) return Number(pid);
  }
  return null;
}

/** Splits a command line like `CommandLineToArgvW`: a backslash is literal unless it precedes a quote. */
export function splitCommandLine(line: string): string[] {
  const words: string[] = [];
  let word = "";
  let isWord = false;
  let quoted = false;
  for (let index = 0; index < line.length; index += 1) {
    const character = line[index] as string;
    if (character === "\\") {
      let end = index;
      while (line[end] === "\\") end += 1;
      const count = end - index;
      const escapes = line[end] === '"';
      word += "\\".repeat(escapes ? count >> 1 : count);
      isWord = true;
      if (escapes && count % 2 === 1) {
        word += '"';
        end += 1;
      }
      index = end - 1;
    } else if (character === '"') {
      quoted = !quoted;
      isWord = true;
    } else if (/[ \t]/.test(character) && !quoted) {
      if (isWord) words.push(word);
      word = "";
      isWord = false;
    } else {
      word += character;
      isWord = true;
    }
  }
  return isWord ? [...words, word] : words;
}

/** Parses the output of the query below: one object or a list, after a mark of UTF-8 if there is one. Members that this user may not see are null. */
export function readProcessList(output: string): Map<number, ProcessRow> {
  const parsed: unknown = JSON.parse(output.replace(/^\ufeff/, ""));
  const rows = new Map<number, ProcessRow>();
  for (const item of Array.isArray(parsed) ? parsed : [parsed]) {
    const {
      ProcessId: pid,
      ParentProcessId: parent,
      Name: name,
      CommandLine: line,
    } = item as Record<string, unknown>;
    if (typeof pid !== "number" || typeof parent !== "number") continue;
    const words =
      typeof line === "string" && line !== ""
        ? splitCommandLine(line)
        : typeof name === "string"
          ? [name]
          : [];
    rows.set(pid, { pid, parent, words });
  }
  return rows;
}

const QUERY =
  "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-CimInstance Win32_Process | " +
  "Select-Object ProcessId,ParentProcessId,Name,CommandLine | ConvertTo-Json -Compress";

/** Reads all processes, by their ids. */
export const readProcesses = async (run: RunCommand): Promise<Map<number, ProcessRow>> =>
  readProcessList(await run("powershell", ["-NoProfile", "-NonInteractive", "-Command", QUERY]));

/**
 * Creates a function that answers batches with `netstat` and CIM, which run once per batch. The working directory and
 * environment of another process are only in its memory, so both stay unknown. The project then comes from the header, the
 * proxy user name or an editor's command line.
 */
export function answerOnWindows(run: RunCommand): AnswerBatch {
  return async (queries) => {
    const connections = await run("netstat", ["-ano", "-p", "TCP"]);
    const found = queries.map(({ clientPort, serverPort }) =>
      readNetstat(connections, clientPort, serverPort),
    );
    if (found.every((pid) => pid === null)) return queries.map(() => UNKNOWN_CALLER);
    const rows = await readProcesses(run);
    const factsOf = (pid: number): ProcessFacts => {
      const program = rows.get(pid)?.words[0];
      return {
        pid,
        processName: program === undefined ? null : win32.basename(program, ".exe"),
        commandLines: commandLinesOf(rows, pid),
        environmentProject: null,
        cwd: null,
      };
    };
    return found.map((pid) => ({ uid: null, process: pid === null ? null : factsOf(pid) }));
  };
}
