import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { programFile } from "../../end-to-end/program-file.rig.ts";
import { writeMigratedFolder } from "./engines.ts";

/** How long a process may take until it responds, in milliseconds, on a busy machine and with a database to create. */
const STARTS_WITHIN_MS = 120_000;

/** The options of its start. */
interface CloudProcessOptions {
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The runtime and its flags. Default: the present Node. */
  readonly runtime?: readonly string[];
  /** The file that starts it. Default: this version's. */
  readonly program?: string;
  /** An existing home, which is kept. Default: a new one, which is removed at the end. */
  readonly home?: string;
  /** Whether the home gets a migrated database first. Creating one takes the process three seconds of CPU time. */
  readonly withDatabase?: boolean;
}

/** `meter-cloud serve` as a separate process. */
export interface CloudProcess {
  /** Where it listens. */
  readonly url: string;
  readonly home: string;
  readonly pid: number;
  /** Everything that it has printed so far. */
  output(): string;
  /** Its log, line by line, so far. */
  log(): Record<string, unknown>[];
  /** Sends a signal and returns the exit code; null if the signal ended it. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
  /** Sends a signal and does not wait. */
  signal(signal: "SIGTERM"): void;
  readonly exited: Promise<number | null>;
}

/** This process's variables without any that would configure the cloud. Compiled code may be shared. */
export function cloudEnvironment(
  more: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(
    ([name]) => name === "NODE_COMPILE_CACHE" || !/^(?:METER_|DATABASE_URL|NODE_)/.test(name),
  );
  return { ...Object.fromEntries(own), ...more };
}

const running = new Set<ChildProcess>();

/** Ends the processes that a failed test left running. */
export function killCloudProcesses(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Starts it on a free port and waits until it listens. It ends with this process in any case. */
export async function startCloudProcess(options: CloudProcessOptions = {}): Promise<CloudProcess> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "meter-cloud-"));
  if (options.withDatabase) await writeMigratedFolder(join(home, "database"));
  const runtime = options.runtime ?? runtimeFor(options.env);
  const program =
    options.program ?? programFile("cloud-bin.js", options.runtime === undefined ? "node" : "another");
  const [command = "", ...words] = [...runtime, program, "serve", "--port", "0", ...(options.words ?? [])];
  const child = spawn(command, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: cloudEnvironment({ METER_CLOUD_HOME: home, ...options.env }),
  });
  const kill = () => child.kill("SIGKILL");
  running.add(child);
  process.on("exit", kill);
  const exited = new Promise<number | null>((resolve) =>
    child.once("exit", (code) => {
      process.off("exit", kill);
      running.delete(child);
      if (options.home === undefined) rmSync(home, { recursive: true, force: true });
      resolve(code);
    }),
  );
  const logged = collect(child.stderr);
  const said = collect(child.stdout);
  const url = await addressOf(child, logged, exited, options.env?.METER_CLOUD_SERVER_BASE_URL !== undefined);
  return {
    url,
    home,
    pid: child.pid ?? 0,
    output: () => said() + logged(),
    exited,
    log: () =>
      logged()
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line) => JSON.parse(line)),
    signal: (signal) => child.kill(signal),
    end: async (signal) => {
      child.kill(signal);
      return await exited;
    },
  };
}

/**
 * Node, which compiles WebAssembly once for an embedded database. In a process that runs for seconds, the optimising compiler
 * takes 0.7 s of CPU time that it does not save.
 */
function runtimeFor(env: CloudProcessOptions["env"]): readonly string[] {
  return env?.DATABASE_URL === undefined ? [process.execPath, "--liftoff-only"] : [process.execPath];
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.on("data", (chunk) => {
    text += String(chunk);
  });
  return () => text;
}

async function addressOf(
  child: ChildProcess,
  logged: () => string,
  exited: Promise<number | null>,
  hasPublicUrl: boolean,
): Promise<string> {
  let isLate = () => {};
  const late = setTimeout(() => isLate(), STARTS_WITHIN_MS);
  try {
    return await new Promise<string>((resolve, reject) => {
      let said = "";
      child.stdout?.on("data", (chunk) => {
        said += String(chunk);
        const [, found] = /is running at (\S+)\n/.exec(said) ?? [];
        // With a public address, the process itself is at the port of the second line.
        const [, port] = /listening on \S+ port (\d+)/.exec(said) ?? [];
        if (found !== undefined && !hasPublicUrl) resolve(found);
        if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
      });
      void exited.then((code) => reject(new Error(`meter-cloud ended with ${code}: ${said}${logged()}`)));
      isLate = () => {
        child.kill("SIGKILL");
        reject(new Error(`meter-cloud does not answer: ${said}${logged()}`));
      };
    });
  } finally {
    clearTimeout(late);
  }
}
