import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  meterWords,
  onNodeOnly,
  plainEnvironment,
  runProgram,
  SUITE_TIMEOUT_MS,
} from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

const body = JSON.stringify({
  model: "claude-haiku-4-5",
  max_tokens: 9,
  messages: [{ role: "user", content: "hello" }],
});
const url = "https://api.anthropic.com/v1/messages";

const byFetch = `
fetch(${JSON.stringify(url)}, { method: "POST", headers: { "content-type": "application/json" }, body: process.argv[1] })
  .then(async (response) => process.exit(response.status === 200 && (await response.text()) ? 0 : 1));
`;

/** A separate HTTPS agent, as in the AWS SDK. */
const byAgent = `
const { Agent, request } = require("node:https");
const call = request(${JSON.stringify(url)}, {
  method: "POST", agent: new Agent({ keepAlive: true, maxSockets: 50 }), headers: { "content-type": "application/json" },
}, (response) => response.resume().on("end", () => process.exit(response.statusCode === 200 ? 0 : 1)));
call.end(process.argv[1]);
`;

/** A Node on this machine that does not support proxy variables, if there is one. */
function findOldNode(): string | null {
  for (const path of ["/usr/bin/node", "/usr/local/bin/node"]) {
    const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    if (/^v(?:18|20)\./.test(stdout ?? "")) return path;
  }
  return null;
}

describe("clients that ignore the proxy variables, under meter run", {
  skip: onNodeOnly || process.platform === "win32",
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulatedMeter("stubborn");
  let folder: string;
  let rows = 0;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "stubborn-"));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function isMetered(program: string, ...words: string[]): Promise<void> {
    const env = { METER_HOME: rig.meter.home, HOME: folder };
    const run = [...meterWords, "run", "--project", "stubborn", "--", program, ...words];
    const { code, stderr } = await runProgram(run, { env });
    assert.deepEqual([code, stderr], [0, ""]);
    rows += 1;
    assert.equal((await rig.meter.waitForRows(rows))[rows - 1]?.project, "stubborn");
  }

  const nodes = { "this Node": process.execPath, "an older Node": findOldNode() };
  for (const [name, node] of Object.entries(nodes)) {
    const skip = node === null ? "there is none on this machine" : false;
    it(`fetch of ${name} is metered`, { skip }, () => isMetered(node as string, "-e", byFetch, body));
    it(`a separate agent in ${name} is metered`, { skip }, () =>
      isMetered(node as string, "-e", byAgent, body),
    );
  }

  const hasWget = spawnSync("wget", ["--version"], { stdio: "ignore" }).status === 0;
  it("wget is metered, and keeps the user's wgetrc", { skip: hasWget ? false : "no wget" }, async () => {
    // The user's own certificate, which does not cover the meter's, and a password.
    const own = ["header = X-Own: 1", "http_password = hunter2", `ca_certificate = ${rig.simulation.caFile}`];
    writeFileSync(join(folder, ".wgetrc"), `${own.join("\n")}\n`);
    const post = ["--header=Content-Type: application/json", `--post-data=${body}`];
    await isMetered("wget", "-q", "-O", "/dev/null", ...post, url);
    const headers = rig.simulation.calls.at(-1)?.requestHeaders ?? [];
    assert.equal(headers.find(([name]) => name.toLowerCase() === "x-own")?.[1], "1");
    const copied = readdirSync(rig.meter.home, { withFileTypes: true, recursive: true }).filter(
      (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes("hunter2"),
    );
    assert.deepEqual(copied, [], "the user's file stays the only one with the password");
  });

  it("Ollama's clients use the gateway, and its server does not", () => {
    const [program = "", ...rest] = [...meterWords, "run", "--"];
    const env = plainEnvironment({ METER_HOME: rig.meter.home, HOME: folder });
    const hostOf = (...words: string[]) =>
      execFileSync(program, [...rest, ...words, "-p", "process.env.OLLAMA_HOST"], {
        env,
        encoding: "utf8",
      }).trim();
    assert.equal(hostOf(process.execPath), `http://127.0.0.1:${rig.meter.proxyPort}/ollama`);
    const shell = execFileSync(program, [...rest, "sh", "-c", 'echo "$OLLAMA_HOST"'], {
      env,
      encoding: "utf8",
    });
    assert.equal(shell, "\n");
  });
});
