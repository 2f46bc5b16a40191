import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { type RunningDaemon, stateFile } from "../../cli/daemon/daemon-process.ts";
import { createCaller } from "../chaos/caller.ts";
import { createParentProxy } from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import {
  createHome,
  freePort,
  onNodeOnly,
  readStore,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  waitFor,
} from "./meter-process.rig.ts";
import { dialProvider, dialTcp, type RawCall, rawCalls, receive, writeRequest } from "./raw-client.rig.ts";
import { createScriptedProvider, type ScriptedAnswer } from "./scripted-provider.rig.ts";

const skip = onNodeOnly || (process.platform === "linux" ? false : "the relay is a process on Linux only");

/** Blocks a program's main thread for good at a signal, while its other threads and processes run. */
const HANGS_AT_SIGNAL = `
process.on("SIGUSR2", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
`;

const anthropic = (stream: boolean) => rawCalls.anthropic?.("ok", stream) as RawCall;

const MESSAGE: ScriptedAnswer = {
  json: { type: "message", model: "claude-sonnet-4-5", usage: { input_tokens: 1, output_tokens: 1 } },
};

describe("a daemon whose main thread hangs", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  it("is ended by its relay and started again; its calls pass meanwhile, and those in flight to their end", async (test) => {
    const lastEvent = Promise.withResolvers<void>();
    const stream = {
      events: [{ data: { type: "message_start" } }, { data: { type: "message_stop" } }],
      beforeLast: lastEvent.promise,
    };
    const provider = await createScriptedProvider(["api.anthropic.com"], ({ body }) =>
      body.stream === true ? stream : MESSAGE,
    );
    const parent = await createParentProxy(provider);
    const ports = { proxy: await freePort(), api: await freePort() };
    const home = createHome(simulationConfig(parent, provider, [], ports));
    test.after(async () => {
      await runMeter(home, ["stop"]);
      removeHome(home);
      await parent.close();
      provider.close();
    });
    const hang = join(home, "hang.mjs");
    writeFileSync(hang, HANGS_AT_SIGNAL);
    const env = { METER_MAY_HANG_MS: "8000", NODE_OPTIONS: `--import=${hang}` };
    const started = await runMeter(home, ["start"], { env });
    assert.equal(started.code, 0, started.stderr);
    const running = () => JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    const caPem = readFileSync(join(home, "ca", "ca.pem"), "utf8");
    const meter = { proxyPort: running().proxy_port, caPem };
    const random = createSeededRandom("hung-daemon");
    const call = async (label: string) => {
      const caller = createCaller(() => meter, random);
      await caller.call(anthropic(false), label);
      caller.close();
    };
    const socket = await dialProvider(meter, "api.anthropic.com");
    const received = receive(socket);
    socket.write(writeRequest(anthropic(true), false, random));
    await waitFor("the first event", () => received.bytes().includes("message_start"));
    const gateway = await dialTcp(meter.proxyPort);
    const answers = receive(gateway);
    const gatewayCall = () => {
      const call = {
        ...anthropic(false),
        path: "/anthropic/v1/messages",
        host: `127.0.0.1:${meter.proxyPort}`,
      };
      return writeRequest(call, false, random);
    };
    gateway.write(gatewayCall());
    await waitFor("the answer of the gateway", () => answers.bytes().includes("output_tokens"));

    const { pid } = running();
    process.kill(pid, "SIGUSR2");
    await call("unrecorded");
    await waitFor("another daemon", () => existsSync(stateFile(home)) && running().pid !== pid);
    assert.equal(socket.destroyed, false);
    lastEvent.resolve();
    await waitFor("the end of the stream", () => received.bytes().includes("message_stop"));
    await waitFor("its last chunk", () => received.bytes().toString().endsWith("0\r\n\r\n"));
    const answered = provider.requests.length;
    for (const [kept, request] of [
      [socket, writeRequest(anthropic(false), false, random)],
      [gateway, gatewayCall()],
    ] as const)
      kept.write(request);
    await Promise.all([received.over, answers.over]);
    assert.equal(provider.requests.length, answered);

    await call("recorded");
    const projects = await waitFor("the call to be stored", () =>
      readStore(home, (store) => {
        const rows = store.records.read({ from: null, to: null, afterSeq: 0, limit: 10 });
        const projects = rows.map(({ project }) => project);
        return projects.includes("recorded") && projects;
      }),
    );
    assert.equal(projects.includes("unrecorded"), false);
    const { stdout } = await runMeter(home, ["status"]);
    assert.match(stdout, /\nwarning +The daemon crashed \(SIGKILL\) at 20[^ ]+Z and was started again\./);
    const log = readFileSync(join(home, "logs", "start.log"), "utf8");
    assert.match(log, /^meter: The daemon did not respond for 8 s\. It was ended\.$/m);
  });
});
