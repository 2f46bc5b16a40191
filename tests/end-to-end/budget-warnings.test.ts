import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
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
  const key = Buffer.alloc(32, 1);
  const webhookEvents: string[] = [];
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = request.headers;
    const expected = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    const { budget, threshold = "" } = data;
    webhookEvents.push(`${signature === `v1,${expected}` ? type : "forged"} ${budget} ${threshold}`.trim());
    response.writeHead(204).end();
  });
  let meter: MeterProcess | undefined;
  before(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
  });
  after(async () => {
    receiver.close();
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

  /** Returns how often the page shows a budget, the threshold marks of its row, and whether it says that it is used up. */
  async function readPage({ apiPort, home }: MeterProcess, name: string) {
    const token = readFileSync(tokenFile(home), "utf8").trim();
    const { body: page } = await requestDaemon(apiPort, "/limits", token, { timeoutMs: 60_000 });
    const rows = page.split("<tr>").filter((row) => row.includes(`<bdi>${name}</bdi>`));
    const [row = ""] = rows;
    return {
      rows: rows.length,
      marks: row.match(/\d+ ✓/g) ?? [],
      isUsedUp: row.includes("used up"),
    };
  }

  const occurrences = (text: string, part: string) => text.split(part).length - 1;

  it("reach every channel once for each threshold, even after a restart", async () => {
    program("notify-send", "$4");
    const command = program("on-budget", "$METER_EVENT $METER_BUDGET $METER_THRESHOLD");
    const config = [
      "[budget_warnings]",
      `command = [${JSON.stringify(command)}]`,
      "[[webhooks]]",
      `url = "http://127.0.0.1:${(receiver.address() as AddressInfo).port}/x"`,
      'events = ["budget.warning", "budget.exceeded", "budget.forecast"]',
      `secret = "whsec_${key.toString("base64")}"`,
    ];
    const home = createHome(simulationConfig(providers.parent, providers.simulation, config));
    const start = () => startMeter(home, { env: { PATH: `${folder}:${process.env.PATH}` } });
    meter = await start();
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await (meter as MeterProcess).run(words);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const shown = (count: number) =>
      waitFor("the warnings to arrive", () =>
        [linesOf("notify-send.txt"), linesOf("on-budget.txt"), webhookEvents].every(
          (lines) => lines.length >= count,
        ),
      );
    const restart = async () => {
      await meter?.stop();
      meter = await start();
      await waitFor("the sums", async () => !/unknown/.test(await run("budget", "list")));
    };
    /** What the terminal and the page show of a budget. */
    const states = async (name: string) => {
      // Without an answer of a busy daemon within its time limit, the line has no figures.
      const statusline = await waitFor("the figures of the status line", async () => {
        const line = await run("statusline");
        return /^today /.test(line) && line;
      });
      const { stdout, stderr } = await (meter as MeterProcess).run(["run", "--", "true"]);
      return {
        statusline: /budget (\S+ \d+%)/.exec(statusline)?.[1],
        inStatusline: occurrences(statusline, `budget ${name} `),
        // Said before the program, and not again after it.
        inRun: occurrences(stdout + stderr, `Budget ${name}`),
        page: await readPage(meter as MeterProcess, name),
      };
    };

    await run("budget", "set", "few", "4 requests", "--period", "total", "--thresholds", "50,100");
    assert.deepEqual(await states("few"), {
      ...{ statusline: undefined, inStatusline: 0, inRun: 0 },
      page: { rows: 1, marks: [], isUsedUp: false },
    });
    for (let count = 0; count < 2; count += 1) await call(meter);
    await shown(1);
    const atHalf = {
      ...{ statusline: "few 50%", inStatusline: 1, inRun: 1 },
      page: { rows: 1, marks: ["50 ✓"], isUsedUp: false },
    };
    assert.deepEqual(await states("few"), atHalf);
    await restart();
    assert.deepEqual(await states("few"), atHalf);
    await call(meter);
    await meter.waitForRows(3);
    await call(meter);
    await shown(2);
    await call(meter);
    await meter.waitForRows(5);
    const atEnd = {
      ...{ statusline: "few 125%", inStatusline: 1, inRun: 1 },
      page: { rows: 1, marks: ["50 ✓", "100 ✓"], isUsedUp: true },
    };
    assert.deepEqual(await states("few"), atEnd);
    await restart();
    assert.deepEqual(await states("few"), atEnd);

    // A forecast of a day that is half over: 10 calls in 12 hours use 15 up.
    const hour = new Date().getUTCHours();
    const zone = `Etc/GMT${hour < 12 ? "-" : "+"}${Math.abs(12 - hour)}`;
    await run(
      "budget",
      "set",
      "daily",
      "15 requests",
      "--period",
      "day",
      "--zone",
      zone,
      "--thresholds",
      "90",
    );
    assert.match(await run("budget", "list"), /daily .*33 %/);
    for (let count = 0; count < 5; count += 1) await call(meter);
    await shown(3);
    assert.match(await run("budget", "show", "daily"), /66 %, used up by/);
    await restart();
    // The next warning shows that the forecast, which was due before it, was not given again.
    await run("budget", "set", "last", "11 requests", "--period", "total", "--thresholds", "100");
    await call(meter);
    await shown(4);
    const warned = ["budget.warning few 50", "budget.exceeded few 100", "budget.forecast daily"];
    const expected = [...warned, "budget.exceeded last 100"];
    assert.deepEqual(
      linesOf("on-budget.txt").map((line) => line.trim()),
      expected,
    );
    assert.deepEqual(webhookEvents, expected);
    const desktop = linesOf("notify-send.txt");
    assert.equal(desktop.length, expected.length);
    for (const [index, text] of [/few.*50 %/, /few.*100 %/, /daily.*at this pace/, /last/].entries())
      assert.match(desktop[index] ?? "", text);
    const log = readFileSync(join(home, "logs", "daemon.log"), "utf8");
    const logged = log.match(/budget\.(?:warning|exceeded|forecast)\b/g);
    assert.deepEqual(
      logged,
      expected.map((line) => line.split(" ")[0]),
    );
    assert.match(await run("status"), /Budget few is used up: 11 requests of 4 requests/);
  });
});
