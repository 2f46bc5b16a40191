/**
 * Holds more silent connections than the proxy accepts, at its real limit, and measures how long a new caller waits.
 * The checks do the same with eight slots (`tests/daemon/proxy/silent-clients.test.ts`).
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { defaultProxyLimits } from "../../daemon/proxy/proxy-config.ts";
import {
  createHome,
  daemonWords,
  type MeterProcess,
  removeHome,
  startMeter,
} from "../end-to-end/meter-process.rig.ts";

/** Each connection is one descriptor in the attacker and up to two in the daemon. */
const DESCRIPTORS = 20_000;

const withDescriptors = (words: readonly string[]) => [
  ...["sh", "-c", `ulimit -n ${DESCRIPTORS} && exec "$@"`, "sh"],
  ...words,
];

/** Opens connections, reports that, and holds them until it is stopped. */
const attacker = `
import { connect } from "node:net";
const [port, count, first] = process.argv.slice(1);
let open = 0;
const next = () => {
  if (open === Number(count)) return console.log("open");
  const socket = connect(Number(port), "127.0.0.1", () => {
    open += 1;
    if (first !== "") socket.write(first);
    next();
  });
  socket.on("error", () => {});
};
next();
`;

describe("more idle sockets than the proxy accepts", () => {
  let meter: MeterProcess;
  const target = createServer((socket) => void socket.end("hi"));
  const held: { kill(): void }[] = [];
  before(async () => {
    target.listen(0, "127.0.0.1");
    await once(target, "listening");
    const home = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
    meter = await startMeter(home, { words: withDescriptors(daemonWords) });
  });
  after(async () => {
    for (const child of held) child.kill();
    await meter.stop();
    target.close();
    removeHome(meter.home);
  });

  for (const [name, first] of [
    ["that say nothing", ""],
    ["that begin a head", "CONNECT a"],
  ] as const) {
    it(`do not delay a new caller behind ${defaultProxyLimits.maxConnections + 500} ${name}`, async (t) => {
      const count = defaultProxyLimits.maxConnections + 500;
      const [command = "", ...words] = withDescriptors([
        ...[process.execPath, "--input-type=module", "-e", attacker],
        ...[`${meter.proxyPort}`, `${count}`, first],
      ]);
      const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
      held.push(child);
      const [line] = await once(createInterface(child.stdout), "line");
      assert.equal(line, "open");
      const waits: number[] = [];
      for (let n = 0; n < 100; n += 1) {
        const startedAt = performance.now();
        assert.match(
          await call(meter.proxyPort, (target.address() as { port: number }).port),
          /200 [\s\S]*hi$/,
        );
        waits.push(performance.now() - startedAt);
      }
      const worstMs = Math.round(Math.max(...waits));
      t.diagnostic(`100 of 100 callers served, the slowest in ${worstMs} ms`);
      child.kill();
      await once(child, "close");
    });
  }
});

async function call(proxyPort: number, port: number): Promise<string> {
  const socket: Socket = connect(proxyPort, "127.0.0.1");
  socket.on("error", () => {});
  let answer = "";
  socket.on("data", (bytes: Buffer) => (answer += bytes.toString()));
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "close");
  return answer;
}
