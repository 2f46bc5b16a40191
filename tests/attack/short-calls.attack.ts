import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { onNodeOnly, plainEnvironment, SUITE_TIMEOUT_MS, waitFor } from "../end-to-end/meter-process.rig.ts";
import { useSimulatedMeter } from "../end-to-end/simulated-meter.rig.ts";

const CALLS = 60;
const CALLS_AT_ONCE = 12;

/** A program that makes one call and exits when it is answered. */
const nodeCaller = `
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
const [port, caFile, body] = process.argv.slice(1);
const socket = connect(Number(port), "127.0.0.1");
socket.write("CONNECT api.anthropic.com:443 HTTP/1.1\\r\\n\\r\\n");
socket.once("data", () => {
  const client = connectTls({ socket, servername: "api.anthropic.com", ca: readFileSync(caFile) });
  let text = "";
  client.on("data", (bytes) => {
    text += bytes;
    if (text.endsWith("}")) process.exit(text.startsWith("HTTP/1.1 200 ") ? 0 : 1);
  });
  client.write("POST /v1/messages HTTP/1.1\\r\\nHost: api.anthropic.com\\r\\nContent-Type: application/json\\r\\nContent-Length: " + body.length + "\\r\\n\\r\\n" + body);
});
`;

const hasCurl = spawnSync("curl", ["--version"], { stdio: "ignore" }).status === 0;

describe("short calls whose clients exit after the response", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly || (process.platform === "linux" ? false : "looks processes up in Linux's /proc"),
}, () => {
  const rig = useSimulatedMeter("short");
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "short-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("have a row each with the caller's folder", async () => {
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, rig.meter.caPem);
    const body = JSON.stringify({
      model: "claude-haiku-4-5",
      max_tokens: 9,
      messages: [{ role: "user", content: "short" }],
    });
    const [program, words] = hasCurl
      ? ([
          "curl",
          [
            ...["--silent", "--fail", "--output", "/dev/null", "--cacert", caFile],
            ...[
              "--proxy",
              `http://127.0.0.1:${rig.meter.proxyPort}`,
              "--header",
              "Content-Type: application/json",
            ],
            ...["--data", body, "https://api.anthropic.com/v1/messages"],
          ],
        ] as const)
      : ([
          process.execPath,
          ["--input-type=module", "-e", nodeCaller, `${rig.meter.proxyPort}`, caFile, body],
        ] as const);
    const call = () =>
      new Promise<number | null>((resolve) => {
        const child = spawn(program, words, { cwd: folder, env: plainEnvironment(), stdio: "ignore" });
        child.once("close", resolve);
      });
    const exitCodes: (number | null)[] = [];
    const callInTurn = async () => {
      while (exitCodes.length < CALLS) exitCodes.push(await call());
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, callInTurn));
    assert.deepEqual([...new Set(exitCodes)], [0]);
    await rig.meter.waitForRows(exitCodes.length);
    const rows = await waitFor("all callers", async () => {
      const all = await rig.meter.rows();
      return all.every(({ attributionDueAt }) => attributionDueAt === undefined) && all;
    });
    const callers = rows.map(({ client, project, sourceWorkdir }) => `${client} ${project} ${sourceWorkdir}`);
    const expected = `${basename(program)} ${basename(folder).toLowerCase()} ${folder}`;
    assert.deepEqual(
      { rows: rows.length, others: callers.filter((caller) => caller !== expected) },
      { rows: exitCodes.length, others: [] },
    );
  });
});
