import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { probePort } from "../../../daemon/proxy/probe-port.ts";

/** Generous, because the machine may be busy. */
const TIMEOUT_MS = 20_000;

function hasPrlimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** A program that probes a port when its last descriptor is in use. */
const program = (port: number) => `
  import { openSync, writeSync } from "node:fs";
  import { probePort } from ${JSON.stringify(new URL("../../../daemon/proxy/probe-port.ts", import.meta.url).href)};
  const held = [];
  try { for (;;) held.push(openSync("/dev/null")); } catch {}
  const probe = await probePort("127.0.0.1", ${port}, ${TIMEOUT_MS});
  writeSync(1, probe);
`;

describe("probePort()", () => {
  it("returns whether a port is open", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    assert.equal(await probePort("127.0.0.1", port, TIMEOUT_MS), "open");
    server.close();
    await once(server, "close");
    assert.equal(await probePort("127.0.0.1", port, TIMEOUT_MS), "closed");
  });

  it("returns unknown without a free descriptor", {
    skip:
      "Deno" in globalThis || "Bun" in globalThis || !hasPrlimit()
        ? "needs Node and prlimit (util-linux)"
        : false,
  }, async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const words = ["--nofile=64:64", process.execPath, "--input-type=module", "-e", program(port)];
    const { stdout } = await promisify(execFile)("prlimit", words);
    assert.equal(stdout, "unknown");
    server.close();
  });
});
