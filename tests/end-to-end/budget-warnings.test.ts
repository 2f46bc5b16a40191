import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";
import { dialProvider, type RawCall, rawCalls, receive } from "./raw-client.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const skip = process.platform === "linux" ? onNodeOnly : "notify-send is a program of Linux";

describe("warnings of a budget", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const providers = useSimulation("budget warnings");
  const folder = mkdtempSync(join(tmpdir(), "meter-warnings-"));
  let meter: MeterProcess | undefined;
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
    rmSync(folder, { recursive: true, force: true });
  });

  const linesOf = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8").trimEnd().split("\n") : [];

  /** Writes a program that appends a line to a file. */
  function program(name: string, line: string): string {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\necho "${line}" >> '${file}.txt'\n`);
    chmodSync(file, 0o755);
    return file;
  }

  async function call({ proxyPort, caPem }: MeterProcess): Promise<void> {
    const raw = rawCalls.anthropic?.("ok", false) as RawCall;
    const { host, path, body } = raw;
    const socket = await dialProvider({ proxyPort, caPem }, host);
    const { over } = receive(socket);
    const text = JSON.stringify(body);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: sk-ant-api03-x\r\nConnection: close\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    await over;
  }

  it("reach the desktop, the program, the log and the terminal once for each threshold, also after a restart", async () => {
    program("notify-send", "$4");
    const command = program("on-budget", "$METER_EVENT $METER_BUDGET $METER_THRESHOLD");
    const config = ["[budget_warnings]", `command = [${JSON.stringify(command)}]`];
    const home = createHome(simulationConfig(providers.parent, providers.simulation, config));
    const start = () => startMeter(home, { env: { PATH: `${folder}:${process.env.PATH}` } });
    meter = await start();
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await (meter as MeterProcess).run(words);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    await run("budget", "set", "few", "4 requests", "--period", "total", "--thresholds", "50,100");
    const shown = (count: number) =>
      waitFor("the programs to run", () =>
        ["notify-send.txt", "on-budget.txt"].every((name) => linesOf(name).length >= count),
      );
    for (let count = 0; count < 2; count += 1) await call(meter);
    await shown(1);
    await meter.stop();
    meter = await start();
    await call(meter);
    await meter.waitForRows(3);
    await call(meter);
    await shown(2);
    await call(meter);
    await meter.waitForRows(5);
    await meter.stop();
    meter = await start();
    await waitFor("the sum", async () => /few .*125 %/.test(await run("budget", "list")));
    assert.deepEqual(linesOf("on-budget.txt"), ["budget.warning few 50", "budget.exceeded few 100"]);
    const desktop = linesOf("notify-send.txt");
    assert.equal(desktop.length, 2);
    assert.match(desktop[0] ?? "", /few.*50 %/);
    assert.match(desktop[1] ?? "", /few/);
    const log = readFileSync(join(home, "logs", "daemon.log"), "utf8");
    const logged = log.match(/budget\.(?:warning|exceeded)\b/g);
    assert.deepEqual(logged, ["budget.warning", "budget.exceeded"]);
    assert.match(await run("status"), /Budget few is used up: 5 requests of 4 requests/);
    const metered = await meter.run(["run", "--", "true"]);
    assert.match(metered.stdout + metered.stderr, /few/);
  });
});
