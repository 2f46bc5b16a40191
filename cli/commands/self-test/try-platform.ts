import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { createProgramRunner } from "../../../adapters/installer/run-program.ts";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import { SELF_TEST_PROJECT } from "../../../core/privacy/policy/upload-policy.ts";
import { endProcess, startDaemonOf } from "../../daemon/start-daemon.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import { selfTest } from "../../install/self-test.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The result of one step. `absent`: this machine has no such program, which is not a failure. */
export interface StepResult {
  readonly step: string;
  readonly outcome: "ok" | "failed" | "absent";
  /** What was found, or why it failed. Contains no names or paths of this machine. */
  readonly detail: string;
  readonly ms: number;
}

/** The signals that end the test early. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Outcome = Omit<StepResult, "step" | "ms">;

const ok = (detail: string): Outcome => ({ outcome: "ok", detail });
const failed = (detail: string): Outcome => ({ outcome: "failed", detail });

/**
 * Runs every step in a separate home below the meter's, and reports each as it ends. Steps after the start of the
 * daemon are left out if it fails. After a signal, only the step that runs ends, and the daemon is stopped. Returns whether no signal came.
 */
export async function tryPlatform(
  meterHome: string,
  env: Environment,
  report: (result: StepResult) => void,
): Promise<boolean> {
  prepareHome(meterHome);
  const home = join(realpathSync(meterHome), `self-test-${process.pid}`);
  const step = async (name: string, run: () => Promise<Outcome>) => {
    const startedAt = performance.now();
    const outcome = await run().catch((cause: unknown) => failed(firstLine(cause, home)));
    report({ step: name, ...outcome, ms: Math.round(performance.now() - startedAt) });
    return outcome.outcome === "ok";
  };
  let isInterrupted = false;
  const interrupt = () => {
    isInterrupted = true;
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n\n[api]\nport = 0\n", { mode: 0o600 });
    await step("find the process of a connection", () => tryLookup(home));
    if (isInterrupted) return false;
    await step("service manager", () => tryServiceManager(env));
    if (isInterrupted) return false;
    let pid = -1;
    let target = { proxyHost: "127.0.0.1", proxyPort: 0 };
    const isStarted = await step("start a daemon", async () => {
      const { daemon } = await startDaemonOf(home, env);
      pid = daemon.pid;
      target = { proxyHost: daemon.proxy_host ?? "127.0.0.1", proxyPort: daemon.proxy_port };
      return ok("its API answered");
    });
    if (!isStarted) return !isInterrupted;
    if (!isInterrupted)
      await step("meter a call", async () => {
        const test = await selfTest({ home, ...target, proxyPassword: null });
        return test.ok ? ok(test.how) : failed(test.why);
      });
    await step("stop the daemon", async () => {
      await endProcess(pid);
      return ok("it ended");
    });
    return !isInterrupted;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Connects from another program, and looks that program up. */
async function tryLookup(home: string): Promise<Outcome> {
  const folder = join(home, "work");
  mkdirSync(folder);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, ["-e", `require("node:net").connect(${port}, "127.0.0.1")`], {
    cwd: folder,
    env: { ...process.env, METER_PROJECT: SELF_TEST_PROJECT },
    stdio: "ignore",
  });
  const lookup = createCallerLookup();
  try {
    const [socket] = (await once(server, "connection", { signal: AbortSignal.timeout(10_000) })) as [Socket];
    socket.on("error", () => {});
    const facts = await lookup.processTable.lookup({ clientPort: socket.remotePort ?? 0, proxyPort: port });
    socket.destroy();
    if (facts === null) return failed("no process was found");
    if (facts.pid !== child.pid) return failed("another process was found");
    const known = {
      "its name": facts.processName !== null,
      "its arguments": facts.commandLines[0]?.some((word) => word.includes("node:net")) === true,
      "its folder": facts.cwd === folder,
      "its environment": facts.environmentProject === SELF_TEST_PROJECT,
    };
    const missing = Object.entries(known).flatMap(([what, isKnown]) => (isKnown ? [] : [what]));
    const detail = missing.length === 0 ? "with all its facts" : `without ${missing.join(", ")}`;
    // Windows shows neither the folder nor the environment of a process.
    return missing.length === 0 || process.platform === "win32" ? ok(detail) : failed(detail);
  } finally {
    child.kill();
    await lookup.close();
    await closeServer(server);
  }
}

const closeServer = (server: Server) => new Promise((resolve) => server.close(resolve));

/** Asks the service manager that `meter init` would use whether it answers. */
async function tryServiceManager(env: Environment): Promise<Outcome> {
  const words = {
    linux: ["systemctl", "--user", "show-environment"],
    darwin: ["launchctl", "print", `gui/${process.getuid?.() ?? 0}`],
    win32: ["schtasks", "/Query", "/FO", "LIST"],
  }[process.platform as string];
  if (words === undefined) return { outcome: "absent", detail: `none is known for ${process.platform}` };
  const { code } = await createProgramRunner(env)(words);
  return code === 0
    ? ok(`${words[0]} answered`)
    : { outcome: "absent", detail: `${words[0]} did not answer: exit code ${code}` };
}

/** Returns an error's first line without the temporary home, the user's folder and the machine's name. */
export function firstLine(cause: unknown, home: string): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const own = [
    [home, "<home>"],
    [findUserHome() ?? "", "~"],
    [hostname(), "<host>"],
  ] as const;
  return own
    .filter(([name]) => name.length > 1)
    .reduce((line, [name, word]) => line.replaceAll(name, word), text.split("\n")[0] ?? "")
    .slice(0, 300);
}
