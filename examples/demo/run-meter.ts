import { spawn } from "node:child_process";
import process from "node:process";
import { programFile } from "../../tests/end-to-end/program-file.rig.ts";

/** The command line's program with its first argument. */
export const program: readonly string[] = [process.execPath, programFile("bin.js")];

/** The folders and processes of the demo. */
export interface Stage {
  readonly home: string;
  /** Aborted when the demo is interrupted: running commands are stopped, and no others start. */
  readonly signal?: AbortSignal;
}

/** Runs a command of the meter and returns its output. `onText` receives the output as it arrives. */
export function runMeter(
  { home, signal }: Stage,
  words: readonly string[],
  onText: (text: string) => void = () => {},
): Promise<string> {
  const [command = "", ...args] = [...program, ...words];
  const { columns } = process.stdout;
  const child = spawn(command, args, {
    env: { ...process.env, METER_HOME: home, ...(columns === undefined ? {} : { COLUMNS: String(columns) }) },
    stdio: ["ignore", "pipe", "inherit"],
    ...(signal === undefined ? {} : { signal }),
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    onText(text);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output.trimEnd());
      else reject(new Error(`meter ${words.join(" ")} exited with ${code}`));
    });
  });
}

/** Prints a line. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a heading. */
export function heading(text: string): void {
  say(`\n── ${text} ${"─".repeat(Math.max(4, 60 - text.length))}`);
}
