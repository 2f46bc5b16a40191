import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import {
  listEstablishedConnections,
  plainAddress,
  readKernelAddress,
  readLsofEstablished,
  readNetstatEstablished,
} from "../../../adapters/process-table/established-connections.ts";

describe("listEstablishedConnections()", () => {
  it("reads Linux's tables and finds the processes of the sockets", {
    skip: process.platform === "win32" && "links",
  }, async () => {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    try {
      mkdirSync(join(proc, "net"));
      // Recorded from /proc/net/tcp: a listening socket, one of ours, one of another user's; the addresses are changed.
      const head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
      const row = (remote: string, state: string, inode: number) =>
        `   0: 0100007F:1F91 ${remote} ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 100 0 0 10 0\n`;
      writeFileSync(
        join(proc, "net/tcp"),
        head + row("00000000:0000", "0A", 1) + row("070A6896:01BB", "01", 42),
      );
      writeFileSync(join(proc, "net/tcp6"), head + row("0000000000000000FFFF0000070A6896:01BB", "01", 43));
      mkdirSync(join(proc, "2210/fd"), { recursive: true });
      symlinkSync("socket:[42]", join(proc, "2210/fd/31"));
      writeFileSync(join(proc, "2210/cmdline"), "/usr/bin/node\0agent.js\0");
      assert.deepEqual(await listEstablishedConnections("linux", { proc }), [
        { remoteAddress: "150.104.10.7", remotePort: 443, pid: 2210, program: "node" },
        { remoteAddress: "150.104.10.7", remotePort: 443, pid: null, program: null },
      ]);
    } finally {
      rmSync(proc, { recursive: true, force: true });
    }
  });

  // Written after lsof(8), "Output for other programs".
  const lsof = `p410
cnode
f24
n192.168.1.5:52514->150.104.10.7:443
f25
n[2001:db8::5]:52515->[2001:db8:0:0::7]:443
p99
cGoogle Chrome
f3
n127.0.0.1:8081->127.0.0.1:52514
`;

  it("reads macOS's lsof", async () => {
    const found = await listEstablishedConnections("darwin", { run: async () => lsof });
    assert.deepEqual(found, readLsofEstablished(lsof));
    assert.deepEqual(
      found.map(({ remoteAddress, pid, program }) => [remoteAddress, pid, program]),
      [
        ["150.104.10.7", 410, "node"],
        ["2001:db8:0:0:0:0:0:7", 410, "node"],
        ["127.0.0.1", 99, "Google Chrome"],
      ],
    );
  });

  // Written after the formats of netstat -ano (here in German) and tasklist /FO CSV /NH.
  const netstat = `
  Proto  Lokale Adresse         Remoteadresse          Status           PID
  TCP    0.0.0.0:135            0.0.0.0:0              ABH\u00d6REN         1020
  TCP    192.168.1.5:52514      150.104.10.7:443       HERGESTELLT     2210
  TCP    [2001:db8::5]:52515    [2001:db8::7]:443      HERGESTELLT     77
`.replaceAll("\n", "\r\n");
  const tasks = '"System","4","Services","0","144 K"\r\n"node.exe","2210","Console","1","70.144 K"\r\n';

  it("reads Windows' netstat and tasklist", async () => {
    const run = async (program: string, words: readonly string[]) =>
      program === "tasklist" ? tasks : words.includes("TCPv6") ? "" : netstat;
    const found = await listEstablishedConnections("win32", { run });
    assert.deepEqual(found, readNetstatEstablished(netstat, tasks));
    assert.deepEqual(found, [
      { remoteAddress: "150.104.10.7", remotePort: 443, pid: 2210, program: "node" },
      { remoteAddress: "2001:db8:0:0:0:0:0:7", remotePort: 443, pid: 77, program: null },
    ]);
  });

  it("returns an empty list on another platform, or if nothing can be run", async () => {
    const run = () => Promise.reject(new Error("no"));
    for (const platform of ["darwin", "win32", "aix"])
      assert.deepEqual(await listEstablishedConnections(platform, { run }), []);
    assert.deepEqual(await listEstablishedConnections("linux", { proc: "/no/such" }), []);
  });
});

describe("plainAddress() and readKernelAddress()", () => {
  const table: [address: string, plain: string][] = [
    ["150.104.10.7", "150.104.10.7"],
    ["::1", "0:0:0:0:0:0:0:1"],
    ["2606:4700::6812:1", "2606:4700:0:0:0:0:6812:1"],
    ["2606:4700:0000:0000:0000:0000:6812:0001", "2606:4700:0:0:0:0:6812:1"],
    ["fe80::1%eth0", "fe80:0:0:0:0:0:0:1"],
  ];
  for (const [address, plain] of table) it(address, () => assert.equal(plainAddress(address), plain));

  it("parse the kernel's format", () => {
    assert.equal(readKernelAddress("0100007F"), "127.0.0.1");
    assert.equal(readKernelAddress("00000000000000000000000001000000"), plainAddress("::1"));
    assert.equal(readKernelAddress("0000000000000000FFFF00000100007F"), "127.0.0.1");
    assert.equal(readKernelAddress("00470626000000000000000001001268"), plainAddress("2606:4700::6812:1"));
  });
});
