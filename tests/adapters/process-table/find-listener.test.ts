import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findListener, findListenersOnLinux } from "../../../adapters/process-table/find-listener.ts";

describe("findListener()", () => {
  it("finds the process on Linux, and none of another port or an open connection", {
    skip: process.platform === "win32" && "links",
  }, async () => {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    try {
      mkdirSync(join(proc, "net"));
      const row = (local: string, state: string, inode: number) =>
        `   0: 0100007F:${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 100 0 0 10 0\n`;
      writeFileSync(join(proc, "net/tcp"), `  sl  head\n${row("1F91", "01", 41)}${row("1F91", "0A", 42)}`);
      mkdirSync(join(proc, "2210/fd"), { recursive: true });
      symlinkSync("socket:[41]", join(proc, "2210/fd/30"));
      mkdirSync(join(proc, "2211/fd"), { recursive: true });
      symlinkSync("socket:[42]", join(proc, "2211/fd/31"));
      writeFileSync(join(proc, "2211/cmdline"), "/usr/bin/node\0server.js\0");
      assert.deepEqual(await findListener(0x1f91, "linux", { proc }), {
        pid: 2211,
        program: "node",
        commandLine: ["/usr/bin/node", "server.js"],
      });
      assert.equal(await findListener(0x1f92, "linux", { proc }), null);
      mkdirSync(join(proc, "2212/fd"), { recursive: true });
      symlinkSync("socket:[42]", join(proc, "2212/fd/3"));
      assert.deepEqual(
        findListenersOnLinux(0x1f91, proc).map(({ pid, program }) => [pid, program]),
        [
          [2211, "node"],
          [2212, null],
        ],
      );
    } finally {
      rmSync(proc, { recursive: true, force: true });
    }
  });

  it("finds this process on Linux", { skip: process.platform !== "linux" && "reads /proc" }, async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    assert.equal((await findListener(port))?.pid, process.pid);
    server.close();
    await once(server, "close");
    assert.equal(await findListener(port), null);
  });

  it("reads macOS's lsof", async () => {
    const asked: string[] = [];
    // Written after lsof(8), "Output for other programs".
    const run = async (program: string, words: readonly string[]) => {
      asked.push([program, ...words].join(" "));
      return "p99\ncGoogle\\x20Chrome\nf3\n";
    };
    assert.deepEqual(await findListener(8_787, "darwin", { run }), {
      pid: 99,
      program: "Google Chrome",
      commandLine: [],
    });
    assert.deepEqual(asked, ["lsof -nP -iTCP:8787 -sTCP:LISTEN -Fpc"]);
  });

  it("reads Windows' netstat and tasklist", async () => {
    // Written after the formats of netstat -ano (here in German) and tasklist /FO CSV /NH.
    const netstat = `
  Proto  Lokale Adresse         Remoteadresse          Status           PID
  TCP    127.0.0.1:52514        127.0.0.1:8787         HERGESTELLT      77
  TCP    127.0.0.1:18787        0.0.0.0:0              ABHÖREN          78
  TCP    127.0.0.1:8787         127.0.0.1:52514        HERGESTELLT      2210
  TCP    127.0.0.1:8787         0.0.0.0:0              ABHÖREN          2210
  TCP    [::1]:8788             [::]:0                 ABHÖREN          2211
`.replaceAll("\n", "\r\n");
    const tasks = '"node.exe","2210","Console","1","70.144 K"\r\n';
    const run = async (program: string) => (program === "tasklist" ? tasks : netstat);
    const found = { pid: 2210, program: "node", commandLine: [] };
    assert.deepEqual(await findListener(8_787, "win32", { run }), found);
    assert.deepEqual(await findListener(8_788, "win32", { run }), { ...found, pid: 2211, program: null });
    assert.equal(await findListener(8_789, "win32", { run }), null);
  });

  it("finds none on another platform, or if nothing can be run", async () => {
    const run = () => Promise.reject(new Error("no"));
    for (const platform of ["darwin", "win32", "aix"])
      assert.equal(await findListener(8_787, platform, { run }), null);
    assert.equal(await findListener(8_787, "linux", { proc: "/no/such" }), null);
  });
});
