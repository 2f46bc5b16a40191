import process from "node:process";
import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { probePort } from "../../../daemon/proxy/probe-port.ts";
import type { RunningProxy } from "../../../daemon/proxy/start-proxy.ts";
import { forgetRelay, NOT_STARTED_EXIT_CODE } from "../../daemon/supervision.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { runDaemon } from "./run-daemon.ts";
import { DRAIN_MS, startRelayOnly } from "./run-relay-only.ts";
import { StartRefusal } from "./start-failure.ts";
import type { Relay } from "./start-relay.ts";
import { stopSignal } from "./stop-signal.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a relay replaces the daemon before it is tried again, in seconds: at first, and at most. `supervise.sh` has the same numbers. */
const FIRST_PAUSE_S = 60;
const LONGEST_PAUSE_S = 3_600;

/** How long a relay may take to give up its port, in milliseconds. */
const CLOSES_WITHIN_MS = 5_000;
const POLL_MS = 20;

/** What the loop runs. */
interface Parts {
  readonly runDaemon: typeof runDaemon;
  readonly startRelayOnly: typeof startRelayOnly;
  readonly pause: (seconds: number, signal: AbortSignal) => Promise<void>;
}

const defaultParts: Parts = {
  runDaemon,
  startRelayOnly,
  pause: (seconds, signal) => delay(seconds * 1_000, undefined, { signal }),
};

/**
 * Runs the daemon. While it can't start, this process relays without metering in its place, so that programs keep their network. For service
 * managers that can't run `supervise.sh`, as that of Windows.
 */
export async function runOrRelay(
  home: string,
  env: Environment,
  stderr: Writable,
  relay: Relay,
  parts: Parts = defaultParts,
): Promise<number> {
  const draining: RunningProxy[] = [];
  try {
    let environment = env;
    for (let pauseS = FIRST_PAUSE_S; ; pauseS = Math.min(2 * pauseS, LONGEST_PAUSE_S)) {
      try {
        return await parts.runDaemon(home, environment, stderr, relay);
      } catch (cause) {
        if (!(cause instanceof CommandFailure) || cause instanceof StartRefusal) throw cause;
        stderr.write(`meter: ${cause.message}\n`);
      }
      environment = { ...env, METER_CRASH: `${NOT_STARTED_EXIT_CODE} ${Math.floor(Date.now() / 1_000)} 1` };
      const replaced = await replaceDaemon(home, environment, stderr, pauseS, parts);
      draining.push(replaced.proxy);
      if (replaced.cause !== "time_over") return replaced.cause === "signal" ? 0 : 1;
    }
  } finally {
    await Promise.all(draining.map((proxy) => proxy.stop(0)));
  }
}

/** Relays for a while. Then the relay accepts nothing more, and its connections may continue beside the daemon. */
async function replaceDaemon(
  home: string,
  env: Environment,
  stderr: Writable,
  pauseS: number,
  { startRelayOnly, pause }: Parts,
): Promise<{ readonly proxy: RunningProxy; readonly cause: "time_over" | "signal" | "lost" }> {
  const environment = { ...env, METER_RELAY_SECONDS: `${pauseS}`, METER_SUPERVISOR: `${process.pid}` };
  const { proxy, host, lost } = await startRelayOnly(home, environment, stderr);
  const over = new AbortController();
  const cause = await Promise.race([
    pause(pauseS, over.signal).then(() => "time_over" as const),
    stopSignal(),
    lost.then(() => "lost" as const),
  ]);
  over.abort();
  forgetRelay(home);
  void proxy.stop(DRAIN_MS);
  const deadline = performance.now() + CLOSES_WITHIN_MS;
  while (cause === "time_over" && performance.now() < deadline) {
    if ((await probePort(host, proxy.port, CLOSES_WITHIN_MS)) === "closed") break;
    await delay(POLL_MS);
  }
  return { proxy, cause };
}
