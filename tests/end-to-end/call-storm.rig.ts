import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type MeterProcess, plainEnvironment, waitFor } from "./meter-process.rig.ts";

/**
 * Opens all connections in one turn, makes one call on each, and prints how many were answered and how many failed. The
 * connections stay open until its standard input ends: a socket that is closed has no process that could be found.
 */
const caller = `
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
const [port, caFile, count] = process.argv.slice(1);
const ca = readFileSync(caFile);
const body = JSON.stringify({ model: "claude-haiku-4-5", max_tokens: 9, messages: [{ role: "user", content: "storm" }] });
const request = "POST /v1/messages HTTP/1.1\\r\\nHost: api.anthropic.com\\r\\nContent-Type: application/json\\r\\nContent-Length: " + body.length + "\\r\\n\\r\\n" + body;
const call = () => new Promise((resolve) => {
  const socket = connect(Number(port), "127.0.0.1");
  const failed = () => resolve(false);
  socket.on("error", failed).on("close", failed);
  socket.write("CONNECT api.anthropic.com:443 HTTP/1.1\\r\\n\\r\\n");
  socket.once("data", () => {
    const client = connectTls({ socket, servername: "api.anthropic.com", ca });
    let text = "";
    client.on("error", failed);
    client.on("data", (bytes) => {
      text += bytes;
      if (text.includes("\\r\\n\\r\\n")) resolve(/^HTTP\\/1.1 200 /.test(text));
    });
    client.write(request);
  });
});
const answered = (await Promise.all(Array.from({ length: Number(count) }, call))).filter(Boolean).length;
console.log(JSON.stringify({ answered, failed: Number(count) - answered }));
process.stdin.on("end", () => process.exit(0)).resume();
`;

/** Requests `/health` every 20 ms until its standard input ends, and prints the longest response time. */
const prober = `
const [port] = process.argv.slice(1);
let worst = 0, over = false;
process.stdin.on("end", () => (over = true)).resume();
console.log("ready");
while (!over) {
  const startedAt = performance.now();
  await fetch("http://127.0.0.1:" + port + "/health").then((answer) => answer.text());
  worst = Math.max(worst, performance.now() - startedAt);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log(Math.round(worst));
process.exit(0);
`;

function run(
  script: string,
  words: readonly string[],
  cwd: string,
): ChildProcess & { text: Promise<string> } {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, ...words], {
    cwd,
    env: plainEnvironment(),
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  return Object.assign(child, {
    text: new Promise<string>((resolve) => child.once("close", () => resolve(text))),
  });
}

/** The result of many simultaneous calls. */
export interface StormResult {
  readonly answered: number;
  readonly failed: number;
  /** The longest response time of `/health` meanwhile, in milliseconds. */
  readonly worstHealthMs: number;
}

/** Makes calls through the daemon from one process in the folder, each on its own connection, all at once. */
export async function callAtOnce(meter: MeterProcess, count: number, folder: string): Promise<StormResult> {
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, meter.caPem);
  const probing = run(prober, [`${meter.apiPort}`], folder);
  await new Promise((resolve) => probing.stdout?.once("data", resolve));
  const calling = run(caller, [`${meter.proxyPort}`, caFile, `${count}`], folder);
  await new Promise((resolve) => calling.stdout?.once("data", resolve));
  await waitFor("all rows with their callers", async () => {
    const rows = await meter.rows();
    return rows.length >= count && rows.every(({ attributionDueAt }) => attributionDueAt === undefined);
  }).catch(() => {});
  calling.stdin?.end();
  const calls = await calling.text;
  probing.stdin?.end();
  const worstHealthMs = Number((await probing.text).trim().split("\n").at(-1));
  return { ...(JSON.parse(calls) as Pick<StormResult, "answered" | "failed">), worstHealthMs };
}

/** Starts processes that do nothing, each with this number of open files. Returns a function that ends them. */
export function startIdleProcesses(count: number, openFiles: number): () => void {
  const script = `for i in $(seq ${openFiles}); do exec {fd}</dev/null; done; exec sleep 900`;
  const children = Array.from({ length: count }, () => spawn("bash", ["-c", script], { stdio: "ignore" }));
  return () => {
    for (const child of children) child.kill();
  };
}
