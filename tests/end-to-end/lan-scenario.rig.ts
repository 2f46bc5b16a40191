/**
 * Runs in its own network namespace, where 192.0.2.1 is this machine and connections from 192.0.2.2 look like those of
 * another machine. Prints the result of each step as JSON; `beyond-this-machine.test.ts` starts it and checks them.
 */
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { passwordFile } from "../../cli/commands/start/proxy-login.ts";
import { createHome, type MeterProcess, removeHome, startMeter, waitFor } from "./meter-process.rig.ts";

const LOCAL = "192.0.2.1";
const REMOTE = "192.0.2.2";
const env = { HALTON_METER_ALLOW_NON_LOOPBACK: "1" };
const beyond = (...more: string[]) => [
  "[proxy]",
  'host = "192.0.2.1"',
  "port = 0",
  ...more,
  "[api]",
  "port = 0",
];

/** Sends a request from an address to the proxy's and returns the head of the response. */
async function ask(
  meter: MeterProcess,
  from: string,
  target: string,
  password: string | null,
): Promise<string> {
  const socket = connect({ host: "192.0.2.1", port: meter.proxyPort, localAddress: from });
  const login = Buffer.from(`shop:${password}`).toString("base64");
  let answer = "";
  socket.on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    answer += bytes.toString();
    if (answer.includes("\r\n\r\n")) socket.destroy();
  });
  socket.write(
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${password === null ? "" : `Proxy-Authorization: Basic ${login}\r\n`}\r\n`,
  );
  await once(socket, "close");
  return answer;
}

const status = (answer: string) => Number(answer.slice(9, 12));

/** Sends a wrong password and returns the wait that the response states; 0 if the password was checked. */
async function secondsToWait(meter: MeterProcess, target: string): Promise<number> {
  const answer = await ask(meter, REMOTE, target, "wrong");
  return Number(/^Retry-After: (\d+)\r$/m.exec(answer)?.[1] ?? 0);
}

async function inMeter<T>(config: string[], work: (meter: MeterProcess) => Promise<T>): Promise<T> {
  const meter = await startMeter(createHome(config), { env });
  try {
    return await work(meter);
  } finally {
    await meter.stop();
    removeHome(meter.home);
  }
}

const server = createServer((socket) => {
  // The proxy resets the connection when its client leaves.
  socket.on("error", () => {});
  socket.end("hi");
});
server.listen(0, "0.0.0.0");
await once(server, "listening");
const { port } = server.address() as { port: number };

const generated = await inMeter(beyond(), async (meter) => {
  const file = passwordFile(meter.home);
  const password = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const targets = {
    loopback: `127.0.0.1:${port}`,
    name: `localhost:${port}`,
    mapped: `[::ffff:127.0.0.1]:${port}`,
    own: `192.0.2.1:${port}`,
    private: "10.0.0.1:443",
    metadata: "169.254.169.254:80",
  };
  const statuses: Record<string, number> = {};
  for (const [name, target] of Object.entries(targets))
    statuses[name] = status(await ask(meter, REMOTE, target, password));
  const plain = await meter.stop();
  return {
    password,
    mode: statSync(file, { throwIfNoEntry: false })?.mode,
    statuses,
    printed: plain.stderr,
    log: JSON.stringify(meter.log()),
    code: plain.code,
  };
});

const login = await inMeter(beyond(`shared_targets = ["127.0.0.1:${port}"]`), async (meter) => {
  const password = readFileSync(passwordFile(meter.home), "utf8").trim();
  const target = `127.0.0.1:${port}`;
  const none = status(await ask(meter, REMOTE, target, null));
  const local = status(await ask(meter, LOCAL, target, null));
  const right = status(await ask(meter, REMOTE, target, password));
  const firstWrong: number[] = [];
  for (let n = 0; n < 5; n += 1) firstWrong.push(status(await ask(meter, REMOTE, target, `wrong ${n}`)));
  // On a busy machine the first wait may end before the next attempt; each wait is twice as long as the one before.
  let nextWrong = 407;
  for (let n = 0; n < 20 && nextWrong === 407; n += 1)
    nextWrong = status(await ask(meter, REMOTE, target, "wrong"));
  // Wrong passwords have made the wait long before the right password can end it.
  for (let n = 0; n < 2_000 && (await secondsToWait(meter, target)) < 4; n += 1) await delay(100);
  const throttled = await ask(meter, REMOTE, target, password);
  const localMeanwhile = status(await ask(meter, LOCAL, target, "wrong"));
  await waitFor(
    "the refusals to be counted",
    async () => (await meter.status()).proxy.counters.refused.login_throttled > 1,
  );
  return {
    none,
    local,
    right,
    firstWrong,
    nextWrong,
    throttled,
    localMeanwhile,
  };
});

const open = await inMeter(beyond("require_authorization = false"), async (meter) => ({
  status: status(await ask(meter, REMOTE, `127.0.0.1:${port}`, null)),
  warnings: (await meter.status()).warnings,
}));

server.close();
process.stdout.write(`${JSON.stringify({ generated, login, open })}\n`);
