/**
 * `npm run bench:lookup -- [sockets]`: measures how long it takes to find the caller of a connection on a machine with many open sockets
 * (Linux). Needs as many file descriptors as sockets.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import process from "node:process";
import { createLinuxCallers } from "../../adapters/process-table/linux.ts";

/** How many connections are looked up. */
const LOOKUPS = 25;

const sockets = Number(process.argv[2] ?? 20_000);

/** A program that opens connections and holds both of their ends. */
const holderScript = `
const { connect, createServer } = require("node:net");
const pairs = Number(process.argv[1]);
const server = createServer((socket) => socket.pause()).listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  let open = 0;
  const next = () => connect(server.address().port, "127.0.0.1", function () {
    this.pause();
    open += 1;
    if (open === pairs) console.log("ready");
    else next();
  });
  next();
});
`;

/** A program that connects and runs until it is killed. */
const callerScript = `require("node:net").connect(Number(process.argv[1]), "127.0.0.1").resume()`;

const start = (script: string, argument: number): ChildProcess =>
  spawn(process.execPath, ["-e", script, String(argument)], { stdio: ["ignore", "pipe", "inherit"] });

const median = (values: number[]): string =>
  (values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN).toFixed(1);

const holder = start(holderScript, Math.floor(sockets / 2));
if (holder.stdout !== null) await once(holder.stdout, "data");
const server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const callers = createLinuxCallers();
const atAccept: number[] = [];
const afterwards: number[] = [];
let found = 0;
for (let lookup = 0; lookup < LOOKUPS; lookup += 1) {
  const child = start(callerScript, port);
  const [{ remotePort }] = (await once(server, "connection")) as [Socket];
  const ends = { clientPort: remotePort ?? 0, serverPort: port };
  const startedAtMs = performance.now();
  await callers([{ ...ends, clientAddress: "127.0.0.1", wantsProcess: false, storesProcess: true }]);
  const acceptedAtMs = performance.now();
  const [answer] = await callers([{ ...ends, clientAddress: null, wantsProcess: true }]);
  atAccept.push(acceptedAtMs - startedAtMs);
  afterwards.push(performance.now() - acceptedAtMs);
  if (answer?.process?.pid === child.pid) found += 1;
  child.kill();
}
console.log(
  `${sockets} sockets: ${median(atAccept)} ms at accept, ${median(afterwards)} ms for the process; ${found} of ${LOOKUPS} callers found`,
);
holder.kill();
process.exit();
