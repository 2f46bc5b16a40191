import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "clipanion";
import { keepConnection } from "../../../adapters/http/request-loopback.ts";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";
import { listExemptHosts, readNoProxy } from "../../../core/values/text/no-proxy.ts";
import { type RunningDaemon, readToken } from "../../daemon/daemon-process.ts";
import { requestProject } from "../../daemon/daemon-projects.ts";
import { describeHolder, findDaemonOrHolder, waitForToken } from "../../daemon/find-holder.ts";
import { requestDaemon } from "../../daemon/loopback-client.ts";
import { httpAddress } from "../../daemon/own-address.ts";
import { requestBudgets } from "../../daemon/request-budgets.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { knownToIgnoreProxy, runEnvironment, trustVariables } from "../../install/run-environment.ts";
import { bundleFor } from "../../install/trust-bundle.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { daemonNotRunning } from "../../program/failures.ts";
import { clientVariables } from "./client-variables.ts";
import { createRunLogin } from "./run-login.ts";
import type { TelemetrySettings } from "./telemetry-variables.ts";

/** The options of `meter run`. */
export interface RunMeteredOptions {
  readonly project: string | undefined;
  readonly telemetry: boolean;
  readonly program: string;
  readonly words: readonly string[];
}

/** Runs one program through the meter. */
export async function runMetered(context: CommandContext, options: RunMeteredOptions): Promise<number> {
  const { program, words } = options;
  if (program === "") throw new UsageError("The program to run is missing.");
  if (options.project !== undefined && normaliseSlug(options.project) === "")
    throw new UsageError(
      `Invalid project name: ${JSON.stringify(options.project)}. Expected: at least one letter or digit.`,
    );
  const { home } = context;
  const connection = keepConnection();
  const { running, holder } = await findDaemonOrHolder(home, { connection });
  if (running === null)
    throw holder === null ? daemonNotRunning() : new CommandFailure(describeHolder(holder));
  await waitForToken(home);
  const { caFolder, caFile } = authorityFiles(home);
  const trusted = trustVariables.flatMap((name) => context.env[name] ?? []);
  const bundleFile = bundleFor(caFolder, caFile, trusted);
  const env = runEnvironment(context.env, {
    proxyHost: running.proxy_host,
    proxyPort: running.proxy_port,
    // Deno does not start without the file. It is missing if it was deleted and only `meter init` may replace it.
    caFile: existsSync(caFile) ? caFile : bundleFile,
    bundleFile,
    project: options.project ?? null,
    login: await createRunLogin(context, options.project ?? null, (folder) =>
      requestProject(home, running, folder, { connection }),
    ),
  });
  connection.close();
  Object.assign(env, clientVariables(context, options, env));
  const telemetry = options.telemetry ? await prepareTelemetry(context, program, running) : null;
  Object.assign(env, telemetry?.variables);
  const warning = knownToIgnoreProxy(program, unpreloadedNodeVersion(program, env));
  if (warning !== null) context.notice(`This program will not be metered: ${warning}.`);
  if (readNoProxy(context.env) !== "") await warnOfExemptHosts(context);
  const shown = await showBudgets(context, []);
  const code = await runChild(context, program, [...(telemetry?.words ?? []), ...words], env);
  await showBudgets(context, shown);
  return code;
}

/**
 * Shows the budgets that reached a threshold or stop calls, except those that were already shown in this state. Returns
 * all of them.
 */
async function showBudgets(context: CommandContext, shown: readonly string[]): Promise<readonly string[]> {
  const budgets = (await requestBudgets(context.home))?.budgets ?? [];
  const lines = budgets.flatMap(({ name, status, used_percent }) => {
    const quoted = /\s/.test(name) ? `'${name}'` : name;
    if (status === "tripped") return [`Budget ${name} stops its calls. See: meter budget show ${quoted}`];
    if (status === "exceeded") return [`Budget ${name} is used up. See: meter budget show ${quoted}`];
    return status === "warning"
      ? [`Budget ${name}: ${used_percent} % used. See: meter budget show ${quoted}`]
      : [];
  });
  for (const line of lines) if (!shown.includes(line)) context.notice(line);
  return lines;
}

/** Returns what makes the program report to the daemon; null if it reports to another collector. Fails if the daemon does not receive. */
async function prepareTelemetry(
  context: CommandContext,
  program: string,
  daemon: RunningDaemon,
): Promise<TelemetrySettings | null> {
  const { status } = await requestDaemon(daemon, "/otlp/v1/logs", readToken(context.home), {
    method: "POST",
    body: "{}",
  });
  if (status !== 200) {
    const file = join(context.home, "config.toml");
    throw new CommandFailure(
      `The daemon does not receive telemetry. Add this to ${file}, and restart the daemon:\n\n[telemetry]\nreceive = true`,
    );
  }
  const { telemetrySettings } = await import("./telemetry-variables.ts");
  const settings = telemetrySettings(context.env, program, httpAddress(daemon.api_host, daemon.api_port));
  if (typeof settings !== "string") return settings;
  context.notice(`${settings} names another collector, so this program does not report to the daemon.`);
  return null;
}

/** Warns if the caller's NO_PROXY exempts hosts of providers. */
async function warnOfExemptHosts(context: CommandContext): Promise<void> {
  // Loaded only here, because most calls of `meter run` don't need them.
  const { createRegistry } = await import("../../../core/metering/usage/registry.ts");
  const { readConfig } = await import("../../home/read-config.ts");
  const { config } = await readConfig(context.home, context.env);
  const { hosts } = createRegistry(config.providers, { deployments: config.azureDeployments });
  const exempt = listExemptHosts(readNoProxy(context.env), hosts);
  const more = exempt.length > 3 ? ` and ${exempt.length - 3} more` : "";
  if (exempt.length > 0)
    context.notice(`NO_PROXY keeps calls to ${exempt.slice(0, 3).join(", ")}${more} from being metered.`);
}

/** Runs the program until it exits and returns its exit code, or 128 and the number of the signal that ended it. */
async function runChild(
  context: CommandContext,
  program: string,
  words: readonly string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  const child = spawn(program, words, { stdio: "inherit", env });
  // The terminal sends its signals to the child too; signals sent only to this process are passed on.
  const passOn = (signal: NodeJS.Signals) => child.kill(signal);
  const ignore = () => {};
  process.on("SIGTERM", passOn).on("SIGHUP", passOn).on("SIGINT", ignore);
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    context.notice(
      code === "ENOENT"
        ? `The program ${program} was not found.`
        : `The program ${program} could not be started: ${code === "EACCES" ? "permission denied" : (cause as Error).message}.`,
    );
    return code === "ENOENT" ? 127 : 126;
  } finally {
    process.off("SIGTERM", passOn).off("SIGHUP", passOn).off("SIGINT", ignore);
  }
}

/** The first Node into which the script of `NODE_OPTIONS` is loaded. It makes the program follow the proxy variables. */
const FIRST_PRELOADED_NODE = 18;

/** Returns the version of a program's `node` if it is too old for the script; else null. */
function unpreloadedNodeVersion(program: string, env: Record<string, string | undefined>): string | null {
  const version = nodeVersionOf(program, env);
  return Number(/^v(\d+)/.exec(version ?? "")?.[1] ?? FIRST_PRELOADED_NODE) < FIRST_PRELOADED_NODE
    ? version
    : null;
}

/** Returns the version of the `node` that the program runs on; null if it is another program or prints no version. */
function nodeVersionOf(program: string, env: Record<string, string | undefined>): string | null {
  const name = program.split(/[\\/]/).pop() as string;
  if (!/^(node|npm|npx|tsx|ts-node)(\.exe|\.cmd)?$/i.test(name)) return null;
  try {
    const node = /^node/i.test(name) ? program : "node";
    return execFileSync(node, ["--version"], {
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return null;
  }
}
