import { win32 } from "node:path";
import type { ProcessTable } from "../../core/ports/process-table.ts";
import { commandLinesOf, type ProcessRow } from "./process-facts.ts";
import { type RunCommand, runCommand } from "./run-command.ts";

/**
 * The holder of the client's end in `netstat -ano`. The state's name is in the system's language, so only ports are
 * read; the row has five fields: protocol, local address, foreign address, state, pid.
 */
export function readNetstat(output: string, clientPort: number, proxyPort: number | null): number | null {
  for (const line of output.split("\n")) {
    const [protocol, local, remote, , pid] = line.trim().split(/\s+/);
    if (protocol !== "TCP" || pid === undefined || local?.endsWith(`:${clientPort}`) !== true) continue;
    if (proxyPort === null || remote?.endsWith(`:${proxyPort}`) === true) return Number(pid);
  }
  return null;
}

/** Cuts a command line as `CommandLineToArgvW` does: backslashes are plain unless they stand before a quote. */
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

/** The processes as the query below prints them: one object or a list of them, with null for what is not ours to see. */
export function readProcessList(output: string): Map<number, ProcessRow> {
  const parsed: unknown = JSON.parse(output);
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

/**
 * The process table of Windows, through `netstat` and CIM. Working directory and environment of another process are in
 * its memory alone, so both stay unknown: there a project comes from the header, the proxy's user name or an editor's
 * command line.
 */
export function createWindowsProcessTable(run: RunCommand = runCommand): ProcessTable {
  return {
    async lookup({ clientPort, proxyPort }) {
      try {
        const pid = readNetstat(await run("netstat", ["-ano", "-p", "TCP"]), clientPort, proxyPort);
        if (pid === null) return null;
        const rows = readProcessList(
          await run("powershell", ["-NoProfile", "-NonInteractive", "-Command", QUERY]),
        );
        const program = rows.get(pid)?.words[0];
        return {
          pid,
          processName: program === undefined ? null : win32.basename(program, ".exe"),
          commandLines: commandLinesOf(rows, pid),
          environmentProject: null,
          cwd: null,
        };
      } catch {
        return null;
      }
    },
  };
}
