import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { findSocket } from "../../../adapters/process-table/linux.ts";
import { createLinuxProcessTable, createProcessTable } from "../../../adapters/process-table/mod.ts";

const header =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, remote: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

describe("findSocket()", () => {
  // 127.0.0.1:52514 -> 127.0.0.1:8081 and the proxy's end of it; then the same from an IPv6 socket.
  const tcp =
    header + row("0100007F:1F91", "0100007F:CD22", 0, 11) + row("0100007F:CD22", "0100007F:1F91", 1000, 12);
  const mapped =
    header + row("0000000000000000FFFF00000100007F:CD23", "0000000000000000FFFF00000100007F:1F91", 5, 13);

  it("finds the client's end, not the proxy's", () => {
    assert.deepEqual(findSocket(tcp, 52_514, 8081), { inode: "12", uid: 1000 });
    assert.deepEqual(findSocket(tcp, 52_514, null), { inode: "12", uid: 1000 });
    assert.deepEqual(findSocket(mapped, 52_515, 8081), { inode: "13", uid: 5 });
  });

  it("finds none for another port at either end, in an empty table and in a cut row", () => {
    assert.equal(findSocket(tcp, 52_515, 8081), null);
    assert.equal(findSocket(tcp, 52_514, 8082), null);
    assert.equal(findSocket("", 52_514, 8081), null);
    assert.equal(findSocket(`${header}   1: 0100007F:CD22 0100007F:1F91 01`, 52_514, 8081), null);
  });

  it("passes over a socket that nobody holds any more", () => {
    assert.equal(findSocket(header + row("0100007F:CD22", "0100007F:1F91", 1000, 0), 52_514, 8081), null);
  });
});

describe("createLinuxProcessTable()", () => {
  /** A `/proc` as the kernel lays it out: an agent under a shell under an editor. */
  function makeProc(): string {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    const uid = process.getuid?.() ?? 0;
    mkdirSync(join(proc, "net"));
    writeFileSync(
      join(proc, "net/tcp"),
      header +
        row("0100007F:CD22", "0100007F:1F91", uid, 77) +
        row("0100007F:CD24", "0100007F:1F91", uid + 1, 78),
    );
    const make = (pid: number, parent: number, words: string, environment: string, socket: string | null) => {
      const folder = join(proc, `${pid}`);
      mkdirSync(join(folder, "fd"), { recursive: true });
      writeFileSync(join(folder, "stat"), `${pid} (a) b (c) S ${parent} 1 1 0`);
      writeFileSync(join(folder, "cmdline"), words);
      writeFileSync(join(folder, "comm"), "MainThread\n");
      writeFileSync(join(folder, "environ"), environment);
      symlinkSync("/gone/shop (deleted)", join(folder, "cwd"));
      symlinkSync("/dev/null", join(folder, "fd/0"));
      if (socket !== null) symlinkSync(`socket:[${socket}]`, join(folder, "fd/3"));
    };
    make(1, 0, "init\0", "", null);
    make(20, 1, "code\0--folder-uri\0file:///w/shop\0", "", null);
    make(30, 20, "", "", null);
    make(40, 30, "/usr/bin/claude\0-p\0a b\0", "A=1\0METER_PROJECT=Shop\0METER_PROJECT=no\0", "77");
    make(50, 1, "", "", "78");
    return proc;
  }

  it("reads name, words of the process and its parents, environment and working directory", async () => {
    const proc = makeProc();
    try {
      const table = createLinuxProcessTable({ proc });
      const expected = {
        pid: 40,
        processName: "claude",
        commandLines: [["/usr/bin/claude", "-p", "a b"], [], ["code", "--folder-uri", "file:///w/shop"]],
        environmentProject: "Shop",
        cwd: "/gone/shop",
      };
      assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), expected);
      // The second time it is found among those that connected before.
      rmSync(join(proc, "50"), { recursive: true });
      assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: null }), expected);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it("gives others a turn during a long scan", async () => {
    const proc = makeProc();
    try {
      let turns = 0;
      let clock = 0;
      const table = createLinuxProcessTable({
        proc,
        monotonicMs: () => (clock += 10),
        turn: async () => {
          turns += 1;
        },
      });
      assert.equal((await table.lookup({ clientPort: 52_514, proxyPort: 8081 }))?.pid, 40);
      assert.equal(turns, 1);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it("knows nobody behind an unknown port, another user's socket, a socket without a holder, and no /proc", async () => {
    const proc = makeProc();
    try {
      const table = createLinuxProcessTable({ proc });
      assert.equal(await table.lookup({ clientPort: 1, proxyPort: 8081 }), null);
      assert.equal(await table.lookup({ clientPort: 52_516, proxyPort: 8081 }), null);
      rmSync(join(proc, "40/fd"), { recursive: true });
      assert.equal(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), null);
      const none = createLinuxProcessTable({ proc: join(proc, "none") });
      assert.equal(await none.lookup({ clientPort: 1, proxyPort: null }), null);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it("names a process without words by the kernel's name for it", async () => {
    const proc = makeProc();
    try {
      writeFileSync(join(proc, "40/cmdline"), "");
      const table = createLinuxProcessTable({ proc });
      assert.equal((await table.lookup({ clientPort: 52_514, proxyPort: 8081 }))?.processName, "MainThread");
      writeFileSync(join(proc, "40/comm"), "");
      assert.equal((await table.lookup({ clientPort: 52_514, proxyPort: 8081 }))?.processName, null);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });
});

describe("createProcessTable()", () => {
  const onLinux = process.platform === "linux" ? false : "only Linux has a /proc";

  it("finds a real process behind a real connection", { skip: onLinux }, async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const connected = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const folder = mkdtempSync(join(tmpdir(), "meter-client-"));
    const script = `require("node:net").connect(${port}, "127.0.0.1").resume()`;
    const child = spawn(process.execPath, ["-e", script, "x y"], {
      cwd: folder,
      env: { ...process.env, METER_PROJECT: "real" },
      stdio: "ignore",
    });
    try {
      const socket = await connected;
      const facts = await createProcessTable().lookup({
        clientPort: socket.remotePort as number,
        proxyPort: port,
      });
      assert.deepEqual([facts?.pid, facts?.environmentProject, facts?.cwd], [child.pid, "real", folder]);
      assert.ok(facts?.commandLines[0]?.includes("x y"));
      socket.destroy();
    } finally {
      child.kill();
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it("knows nobody on a platform without one", async () => {
    assert.equal(await createProcessTable("sunos").lookup({ clientPort: 1, proxyPort: null }), null);
    for (const platform of ["linux", "darwin", "win32"]) {
      assert.equal(typeof createProcessTable(platform).lookup, "function");
    }
  });
});
