import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { runOrRelay } from "../../../../cli/commands/start/run-or-relay.ts";
import { StartRefusal } from "../../../../cli/commands/start/start-failure.ts";
import { readCrash } from "../../../../cli/daemon/supervision.ts";
import { CommandFailure } from "../../../../cli/program/exit-codes.ts";
import type { RunningProxy } from "../../../../daemon/proxy/start-proxy.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs a daemon whose starts fail with these errors, the last of them with none. Returns what happened. */
async function run(failures: readonly Error[]) {
  const starts: Environment[] = [];
  const relays: Environment[] = [];
  const pauses: number[] = [];
  const stops: number[] = [];
  const proxy = { port: 1, stop: async (deadlineMs: number) => void stops.push(deadlineMs) };
  const output = new PassThrough();
  const result = runOrRelay(
    "/nowhere",
    { NAME: "value" },
    output,
    { startThread: () => assert.fail() },
    {
      async runDaemon(_, env) {
        const failure = failures[starts.length];
        starts.push(env);
        if (failure !== undefined) throw failure;
        return 0;
      },
      async startRelayOnly(_, env) {
        relays.push(env);
        return { proxy: proxy as unknown as RunningProxy, host: "127.0.0.1", lost: new Promise(() => {}) };
      },
      async pause(seconds) {
        pauses.push(seconds);
      },
    },
  );
  const code = await result.catch((error: unknown) => error);
  return { code, starts, relays, pauses, stops, output: String(output.read() ?? "") };
}

describe("runOrRelay()", () => {
  it("relays while the daemon can't start, for longer each time, and tells the next daemon", async () => {
    const failed = new CommandFailure("The authority is damaged.");
    const { code, starts, relays, pauses, stops, output } = await run([failed, failed]);
    assert.equal(code, 0);
    assert.deepEqual(pauses, [60, 120]);
    assert.equal(output, "meter: The authority is damaged.\n".repeat(2));
    assert.deepEqual(
      starts.map((env) => [env.NAME, readCrash(env)?.cause]),
      [
        ["value", undefined],
        ["value", "it could not start"],
        ["value", "it could not start"],
      ],
    );
    assert.deepEqual(
      relays.map((env) => [env.METER_RELAY_SECONDS, env.METER_SUPERVISOR]),
      [
        ["60", `${process.pid}`],
        ["120", `${process.pid}`],
      ],
    );
    // Each drains beside the next daemon, and ends with this process.
    assert.deepEqual(stops, [600_000, 600_000, 0, 0]);
  });

  it("does not relay in place of a daemon that must not be replaced", async () => {
    for (const failure of [new StartRefusal("The port is in use."), new TypeError("a fault")]) {
      const { code, relays } = await run([failure]);
      assert.deepEqual([code, relays], [failure, []]);
    }
  });
});
