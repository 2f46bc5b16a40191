import { type ChildProcess, spawn } from "node:child_process";
import { Writable } from "node:stream";
import { main } from "../../cli/main.ts";
import type { Person } from "../cloud/kit/person.ts";
import { meterWords, plainEnvironment } from "./meter-process.rig.ts";

/** A running command of the meter, with its output so far on both streams. */
interface RunningMeter {
  readonly process: ChildProcess;
  output(): string;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

/** Starts a command. */
export function spawnMeter(home: string, words: readonly string[]): RunningMeter {
  const [command = "", ...rest] = meterWords;
  const child = spawn(command, [...rest, ...words], {
    env: plainEnvironment({ METER_HOME: home }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return {
    process: child,
    output: () => output,
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}

/** Returns the code that `meter cloud connect` shows, once it waits for its approval. */
export function shownCode(output: string): string | null {
  return /\n {2}code {2}(\S+)\n[\s\S]*Ctrl-C/.exec(output)?.[1] ?? null;
}

/**
 * Pairs as people do: `meter cloud connect` shows a code and waits, and the person approves it. Returns the output. The command runs in this
 * process.
 */
export async function connectMeter(
  home: string,
  baseUrl: string,
  person: Pick<Person, "approve">,
  words: readonly string[] = [],
): Promise<string> {
  let output = "";
  let approval: Promise<void> | null = null;
  const { promise: refused, reject } = Promise.withResolvers<never>();
  const stream = new Writable({
    write(chunk, _encoding, done) {
      output += String(chunk);
      done();
      const code = shownCode(output);
      if (code === null || approval !== null) return;
      approval = person.approve(code);
      // Otherwise the command would wait until the code expires.
      approval.catch(reject);
    },
  });
  const running = main(["cloud", "connect", "--base-url", baseUrl, ...words], {
    stdout: stream,
    stderr: stream,
    env: plainEnvironment({ METER_HOME: home }),
  });
  const code = await Promise.race([running, refused]);
  await approval;
  if (code !== 0) throw new Error(`meter cloud connect ended with ${code}: ${output}`);
  return output;
}
