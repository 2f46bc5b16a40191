import process from "node:process";
import type { Writable } from "node:stream";
import { writeFileAtomic } from "../../../adapters/files/write-file-atomic.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import { withoutInterception } from "../../../daemon/proxy/proxy-config.ts";
import { type RunningProxy, startProxy } from "../../../daemon/proxy/start-proxy.ts";
import { forgetRelay, readCrash, relayFile, type UnmeteredRelay } from "../../daemon/supervision.ts";
import { readConfigOrDefaults } from "../../home/read-config.ts";
import { checkHome } from "../../program/check-home.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { createProxySettings, readConfiguredRoots } from "./proxy-settings.ts";
import { describeStartFailure } from "./start-failure.ts";
import { stopSignal } from "./stop-signal.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long open connections may continue once the daemon is tried again, in milliseconds. */
export const DRAIN_MS = 600_000;

/**
 * Relays without metering until it is stopped: the proxy with its rules about clients and targets, but without certificates,
 * log, budgets and database. `supervise.sh` starts it in place of a daemon that keeps crashing or can't start. If the configuration can't be
 * read, it relays with the defaults, so only for this machine.
 */
export async function runRelayOnly(home: string, env: Environment, stderr: Writable): Promise<number> {
  const { proxy, lost } = await startRelayOnly(home, env, stderr);
  const cause = await Promise.race([stopSignal(), lost]);
  forgetRelay(home);
  await proxy.stop(DRAIN_MS);
  return cause === "signal" ? 0 : 1;
}

/** Starts such a relay, and announces it. `lost` resolves if it has lost its port. */
export async function startRelayOnly(
  home: string,
  env: Environment,
  stderr: Writable,
): Promise<{ readonly proxy: RunningProxy; readonly host: string; readonly lost: Promise<void> }> {
  checkHome(home);
  const { config, problem } = await readConfigOrDefaults(home, env);
  const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
  const warnings: string[] = [];
  const settings = await createProxySettings(home, config, registry, env, warnings);
  let roots: string[] = [];
  try {
    roots = readConfiguredRoots(home, config);
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
    // A tunnel needs none of these certificates.
    warnings.push(cause.message);
  }
  for (const warning of problem === null ? warnings : [problem, ...warnings])
    stderr.write(`meter: ${warning}\n`);
  const lost = Promise.withResolvers<void>();
  const proxy = await startProxy(
    { ...settings, roots, ...withoutInterception },
    {
      frames() {},
      event({ kind }) {
        if (kind === "port_lost") lost.resolve();
      },
    },
  ).catch(async (cause: unknown) => {
    throw await describeStartFailure(cause, config, home);
  });
  announce(home, env, proxy.port);
  return { proxy, host: settings.host, lost: lost.promise };
}

/** Writes `relay.json`, by which `meter status` and `meter stop` find this process. */
function announce(home: string, env: Environment, port: number): void {
  const crash = readCrash(env);
  const seconds = Number(env.METER_RELAY_SECONDS ?? 0);
  const relay: UnmeteredRelay = {
    pid: process.pid,
    supervisor: Number(env.METER_SUPERVISOR ?? process.ppid),
    proxy_port: port,
    crashes: crash?.count ?? 0,
    cause: crash?.cause ?? "unknown",
    until: new Date(Date.now() + seconds * 1_000).toISOString(),
  };
  try {
    writeFileAtomic(relayFile(home), `${JSON.stringify(relay, null, 2)}\n`, { mode: 0o600 });
  } catch {
    // It relays nevertheless; only `meter status` can't tell.
  }
}
