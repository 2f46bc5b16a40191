import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { MessagePort } from "node:worker_threads";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import type { CallerAnswer } from "../../../adapters/process-table/caller-query.ts";
import { findSocket, indexSockets } from "../../../adapters/process-table/kernel-sockets.ts";
import { FACTS_MAX_AGE_MS } from "../../../adapters/process-table/known-processes.ts";
import { createLinuxCallers } from "../../../adapters/process-table/linux.ts";
import { createPortBatch } from "../../../adapters/process-table/lookup-port.ts";
import { createLookupQueue } from "../../../adapters/process-table/lookup-queue.ts";
import { createLinuxProcessTable } from "./platform-tables.rig.ts";

const header =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, remote: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

const find = (table: string, clientPort: number, serverPort: number | null) =>
  findSocket(indexSockets([table], new Set([clientPort])), { clientAddress: null, clientPort, serverPort });

describe("findSocket()", () => {
  // 127.0.0.1:52514 -> 127.0.0.1:8081 and the proxy's end of it; then the same from an IPv6 socket.
  const tcp =
    header + row("0100007F:1F91", "0100007F:CD22", 0, 11) + row("0100007F:CD22", "0100007F:1F91", 1000, 12);
  const mapped =
    header + row("0000000000000000FFFF00000100007F:CD23", "0000000000000000FFFF00000100007F:1F91", 5, 13);

  it("finds the client's end, not the proxy's", () => {
    assert.deepEqual(find(tcp, 52_514, 8081), { inode: "12", uid: 1000 });
    assert.deepEqual(find(tcp, 52_514, null), { inode: "12", uid: 1000 });
    assert.deepEqual(find(mapped, 52_515, 8081), { inode: "13", uid: 5 });
  });

  it("returns null for another port at either end, an empty table and a truncated row", () => {
    assert.equal(find(tcp, 52_515, 8081), null);
    assert.equal(find(tcp, 52_514, 8082), null);
    assert.equal(find("", 52_514, 8081), null);
    assert.equal(find(`${header}   1: 0100007F:CD22 0100007F:1F91 01`, 52_514, 8081), null);
  });

  it("finds a closed socket only if there is no open one", () => {
    const closed = row("0100007F:CD22", "0100007F:1F91", 0, 0);
    const open = row("0100007F:CD22", "0100007F:1F91", 1000, 12);
    assert.deepEqual(find(header + closed, 52_514, 8081), { inode: "0", uid: 0 });
    assert.deepEqual(find(header + closed + open, 52_514, 8081), { inode: "12", uid: 1000 });
    assert.deepEqual(find(header + open + closed, 52_514, 8081), { inode: "12", uid: 1000 });
  });
});

describe("createLinuxProcessTable()", () => {
  /** A `/proc` as the kernel lays it out: an agent under a shell under an editor. */
  function makeProc(context: TestContext): string {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    context.after(() => rmSync(proc, { recursive: true, force: true }));
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
    make(
      40,
      30,
      "/usr/bin/claude\0-p\0a b\0",
      "A=1\0METER_PROJECT=Shop\0METER_PROJECT=no\0CI_MERGE_REQUEST_IID=7\0",
      "77",
    );
    make(50, 1, "", "", "78");
    return proc;
  }

  it("reads name, command lines, environment and working directory", async (context) => {
    const proc = makeProc(context);
    const table = createLinuxProcessTable({ proc });
    const expected = {
      pid: 40,
      processName: "claude",
      commandLines: [["/usr/bin/claude", "-p", "a b"], [], ["code", "--folder-uri", "file:///w/shop"]],
      environmentProject: "Shop",
      ciRun: { branch: null, pullRequest: 7 },
      cwd: "/gone/shop",
    };
    assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), expected);
    // The second time it is found among those that connected before.
    rmSync(join(proc, "50"), { recursive: true });
    assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: null }), expected);
  });

  it("answers a batch from one reading of the tables and one search of each process", async (context) => {
    const proc = makeProc(context);
    const reads: string[] = [];
    const callers = createLinuxCallers({ proc, onRead: (what) => reads.push(what) });
    const query = { clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081, wantsProcess: true };
    const answers = await callers(Array.from({ length: 500 }, () => query));
    assert.ok(answers.every(({ uid, process: found }) => uid === process.getuid?.() && found?.pid === 40));
    // Pid 50 is younger than the holder, and pids 30 to 1 are not reached.
    assert.deepEqual(reads, ["tables", "descriptors", "descriptors"]);
    reads.length = 0;
    assert.equal((await callers([query]))[0]?.process?.pid, 40);
    assert.deepEqual(reads, ["tables"]);
  });

  it("finds a process that connected before by one descriptor, and answers with the user", async (context) => {
    const proc = makeProc(context);
    const steps: string[] = [];
    const callers = createLinuxCallers({ proc, onRead: (what) => steps.push(what) });
    const query = { clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081, storesProcess: true };
    const ask = async () => {
      const early: CallerAnswer[] = [];
      steps.length = 0;
      await callers([{ ...query, wantsProcess: false }], (answers) => early.push(...answers));
      return early[0];
    };
    assert.deepEqual(await ask(), { uid: process.getuid?.(), process: null });
    // The program closes that connection and opens another one.
    writeFileSync(
      join(proc, "net/tcp"),
      header + row("0100007F:CD22", "0100007F:1F91", process.getuid?.() ?? 0, 99),
    );
    rmSync(join(proc, "40/fd/3"));
    symlinkSync("socket:[99]", join(proc, "40/fd/3"));
    assert.equal((await ask())?.process?.pid, 40);
    assert.deepEqual(steps, ["tables"]);
    // Another program opens the next one.
    writeFileSync(
      join(proc, "net/tcp"),
      header + row("0100007F:CD22", "0100007F:1F91", process.getuid?.() ?? 0, 100),
    );
    symlinkSync("socket:[100]", join(proc, "50/fd/7"));
    assert.equal((await ask())?.process, null);
    assert.equal((await ask())?.process?.pid, 50);
  });

  it("reads what it knows about a process again after five seconds, or if its name changes", async (context) => {
    const proc = makeProc(context);
    let now = 0;
    const table = createLinuxProcessTable({ proc, monotonicMs: () => now });
    const lookup = () => table.lookup({ clientPort: 52_514, proxyPort: 8081 });
    const words = (text: string) => writeFileSync(join(proc, "40/cmdline"), text);
    assert.equal((await lookup())?.processName, "claude");
    words("/bin/other\0");
    rmSync(join(proc, "40/cwd"));
    symlinkSync("/elsewhere", join(proc, "40/cwd"));
    now = FACTS_MAX_AGE_MS;
    assert.deepEqual([(await lookup())?.processName, (await lookup())?.cwd], ["claude", "/elsewhere"]);
    now = FACTS_MAX_AGE_MS + 1;
    assert.equal((await lookup())?.processName, "other");
    words("/bin/third\0");
    writeFileSync(join(proc, "40/stat"), "40 (third) S 30 1 1 0");
    assert.equal((await lookup())?.processName, "third");
  });

  it("asks the kernel for sockets whose ends are known, and reads the tables for others", async (context) => {
    const proc = makeProc(context);
    const reads: string[] = [];
    const asked: unknown[] = [];
    const callers = createLinuxCallers({
      proc,
      onRead: (what) => reads.push(what),
      query: async (sockets) => {
        asked.push(...sockets);
        return sockets.map(({ localPort }) => (localPort === 52_514 ? { uid: 5, inode: "5" } : null));
      },
    });
    const query = { clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081, wantsProcess: false };
    const exact = { ...query, serverAddress: "127.0.0.1" };
    assert.equal((await callers([exact]))[0]?.uid, 5);
    assert.deepEqual(reads, []);
    const local = { localAddress: "127.0.0.1", localPort: 52_514 };
    assert.deepEqual(asked, [{ ...local, remoteAddress: "127.0.0.1", remotePort: 8081 }]);
    const [known, unknown, other] = await callers([exact, query, { ...exact, clientPort: 52_516 }]);
    assert.deepEqual(
      [known?.uid, unknown?.uid, other?.uid],
      [5, process.getuid?.(), (process.getuid?.() ?? 0) + 1],
    );
    assert.deepEqual(reads, ["tables"]);
  });

  it("forgets the holder of a socket if its pid now belongs to another process", async (context) => {
    const proc = makeProc(context);
    const callers = createLinuxCallers({ proc });
    const query = { clientAddress: null, clientPort: 52_514, serverPort: 8081, wantsProcess: true };
    assert.equal((await callers([query]))[0]?.process?.pid, 40);
    writeFileSync(join(proc, "40/stat"), `40 (other) S 1 1 1 0${" 9".repeat(20)}`);
    rmSync(join(proc, "40/fd/3"));
    assert.equal((await callers([query]))[0]?.process, null);
  });

  it("reads the tables again if a reading missed a socket, at most three times", async (context) => {
    const proc = makeProc(context);
    let tables = 0;
    const callers = createLinuxCallers({ proc, onRead: (what) => (tables += what === "tables" ? 1 : 0) });
    const query = { clientAddress: null, clientPort: 7, serverPort: 8081, wantsProcess: true };
    assert.deepEqual(await callers([query, query]), [
      { uid: null, process: null },
      { uid: null, process: null },
    ]);
    assert.equal(tables, 3);
  });

  it("uses ss for a while after a slow reading of large tables, and reads the tables if ss fails", async (context) => {
    const proc = makeProc(context);
    const small: string[] = [];
    let clock = 0;
    const onSmall = createLinuxCallers({
      ...{ proc, monotonicMs: () => (clock += 16), onRead: (what: string) => small.push(what) },
      diagnose: async () => null,
    });
    const any = { clientAddress: null, clientPort: 52_514, serverPort: 8081, wantsProcess: false };
    await onSmall([any]);
    await onSmall([any]);
    assert.deepEqual(small, ["tables", "tables"], "small tables, on a busy machine");
    appendFileSync(join(proc, "net/tcp"), `${" ".repeat(149)}\n`.repeat(2_000));
    const steps: string[] = [];
    let now = 0;
    let stepMs = 16;
    let output: string | null =
      "ESTAB 0 0 127.0.0.1:52514 127.0.0.1:8081 uid:5 ino:9 sk:1 cgroup:/ <->\nTIME-WAIT 0 0 [::ffff:127.0.0.1]:52515 [::ffff:127.0.0.1]:8081 ino:0 sk:2\n";
    const callers = createLinuxCallers({
      proc,
      monotonicMs: () => (now += stepMs),
      onRead: (what) => steps.push(what),
      diagnose: async (ports) => (ports.has(52_514) ? output : null),
    });
    const query = { clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081, wantsProcess: false };
    const uid = process.getuid?.();
    assert.equal((await callers([query]))[0]?.uid, uid);
    assert.deepEqual(await callers([query, { ...query, clientPort: 52_515 }]), [
      { uid: 5, process: null },
      { uid: null, process: null, isClosed: true },
    ]);
    output = null;
    assert.equal((await callers([query]))[0]?.uid, uid);
    stepMs = 0;
    now += 30_001;
    await callers([query]);
    assert.deepEqual(steps, ["tables", "diagnosis", "diagnosis", "tables", "tables"]);
  });

  it("stops searching at the time limit", async (context) => {
    const proc = makeProc(context);
    let now = 0;
    let searched = 0;
    const callers = createLinuxCallers({
      proc,
      monotonicMs: () => (now += 1_500),
      onRead: (what) => (searched += what === "descriptors" ? 1 : 0),
    });
    rmSync(join(proc, "40/fd/3"));
    const query = { clientAddress: null, clientPort: 52_514, serverPort: 8081, wantsProcess: true };
    assert.equal((await callers([query]))[0]?.process, null);
    assert.equal(searched, 2);
  });

  describe("for a client that closed its socket before its process is looked up", () => {
    const onOpen = { clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081, wantsProcess: false };
    const later = { clientAddress: null, clientPort: 52_514, serverPort: 8081, wantsProcess: true };
    const close = (proc: string) => {
      writeFileSync(join(proc, "net/tcp"), header + row("0100007F:CD22", "0100007F:1F91", 0, 0));
      rmSync(join(proc, "40"), { recursive: true });
    };

    it("returns the process from the query at the time of the connection", async (context) => {
      const proc = makeProc(context);
      const steps: string[] = [];
      const callers = createLinuxCallers({ proc, onRead: (what) => steps.push(what) });
      const [answer] = await callers([{ ...onOpen, storesProcess: true }], ([users]) =>
        steps.push(`uid ${users?.uid}`),
      );
      assert.deepEqual(answer, { uid: process.getuid?.(), process: null });
      assert.deepEqual(steps.slice(0, 3), ["tables", `uid ${process.getuid?.()}`, "descriptors"]);
      close(proc);
      assert.deepEqual((await callers([{ ...later, wantsProcess: false }]))[0], {
        uid: null,
        process: null,
        isClosed: true,
      });
      steps.length = 0;
      assert.equal((await callers([later]))[0]?.process?.pid, 40);
      assert.deepEqual(steps, [], "the socket is known, and so is its process");
      writeFileSync(join(proc, "net/tcp"), header);
      assert.equal((await callers([later]))[0]?.process?.cwd, "/gone/shop");
    });

    it("returns none without that query, for other ports, and after ten seconds", async (context) => {
      const proc = makeProc(context);
      let now = 0;
      const callers = createLinuxCallers({ proc, monotonicMs: () => now });
      await callers([onOpen]);
      close(proc);
      assert.equal((await callers([later]))[0]?.process, null);
      rmSync(proc, { recursive: true });
      const again = makeProc(context);
      const others = createLinuxCallers({ proc: again, monotonicMs: () => now });
      await others([{ ...onOpen, storesProcess: true }]);
      close(again);
      assert.equal((await others([{ ...later, clientPort: 52_515 }]))[0]?.process, null);
      assert.equal((await others([{ ...later, serverPort: 8082 }]))[0]?.process, null);
      now = 10_000;
      assert.equal((await others([later]))[0]?.process?.pid, 40);
      now = 10_001;
      assert.equal((await others([later]))[0]?.process, null);
      rmSync(again, { recursive: true });
    });

    it("returns none from an earlier connection with the same ports", async (context) => {
      const proc = makeProc(context);
      const callers = createLinuxCallers({ proc });
      await callers([{ ...onOpen, storesProcess: true }]);
      close(proc);
      await callers([{ ...onOpen, storesProcess: true }]);
      assert.equal((await callers([later]))[0]?.process, null);
    });

    it("searches for at most 200 ms, because other connections wait", async (context) => {
      const proc = makeProc(context);
      let now = 0;
      let searched = 0;
      const callers = createLinuxCallers({
        proc,
        monotonicMs: () => (now += 120),
        onRead: (what) => (searched += what === "descriptors" ? 1 : 0),
      });
      rmSync(join(proc, "40/fd/3"));
      await callers([{ ...onOpen, storesProcess: true }]);
      assert.equal(searched, 2);
    });
  });

  it("returns null for an unknown port, another user's socket, a socket without a holder, and without /proc", async (context) => {
    const proc = makeProc(context);
    const table = createLinuxProcessTable({ proc });
    assert.equal(await table.lookup({ clientPort: 1, proxyPort: 8081 }), null);
    assert.equal(await table.lookup({ clientPort: 52_516, proxyPort: 8081 }), null);
    rmSync(join(proc, "40/fd"), { recursive: true });
    assert.equal(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), null);
    const none = createLinuxProcessTable({ proc: join(proc, "none") });
    assert.equal(await none.lookup({ clientPort: 1, proxyPort: null }), null);
  });

  it("uses the kernel's name of a process without a command line", async (context) => {
    const proc = makeProc(context);
    writeFileSync(join(proc, "40/cmdline"), "");
    const table = createLinuxProcessTable({ proc });
    assert.equal((await table.lookup({ clientPort: 52_514, proxyPort: 8081 }))?.processName, "MainThread");
    writeFileSync(join(proc, "40/comm"), "");
    const later = createLinuxProcessTable({ proc });
    assert.equal((await later.lookup({ clientPort: 52_514, proxyPort: 8081 }))?.processName, null);
  });
});

describe("createCallerLookup()", () => {
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
    const lookup = createCallerLookup();
    try {
      const socket = await connected;
      const facts = await lookup.processTable.lookup({
        clientPort: socket.remotePort as number,
        proxyPort: port,
      });
      assert.deepEqual([facts?.pid, facts?.environmentProject, facts?.cwd], [child.pid, "real", folder]);
      assert.ok(facts?.commandLines[0]?.includes("x y"));
      socket.destroy();
    } finally {
      await lookup.close();
      child.kill();
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it("answers another thread through its own port", { skip: onLinux }, async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const lookup = createCallerLookup();
    const client = connect(port, "127.0.0.1");
    const accepted = await new Promise<Socket>((resolve) => server.once("connection", resolve));
    try {
      const asked = new Promise<MessagePort>((resolve) => lookup.connect(resolve));
      const batch = createPortBatch(await asked);
      const query = {
        clientAddress: "127.0.0.1",
        clientPort: accepted.remotePort as number,
        serverPort: port,
      };
      const answers = batch([{ ...query, wantsProcess: false }]);
      assert.deepEqual(await answers, [{ uid: process.getuid?.(), process: null }]);
      const closed = lookup.close();
      await assert.rejects(batch([{ ...query, wantsProcess: true }]));
      await closed;
      await assert.rejects(batch([]));
      assert.equal(await lookup.processTable.lookup({ clientPort: query.clientPort, proxyPort: port }), null);
    } finally {
      client.destroy();
      accepted.destroy();
      server.close();
    }
  });

  it("returns unknown callers on an unsupported platform", async () => {
    const lookup = createCallerLookup("sunos");
    assert.equal(await lookup.processTable.lookup({ clientPort: 1, proxyPort: null }), null);
    assert.equal(lookup.owners, null);
    lookup.connect(() => assert.fail("no thread, no port"))();
    await lookup.close();
    for (const platform of ["darwin", "win32"]) {
      assert.equal(typeof createCallerLookup(platform).processTable.lookup, "function");
    }
  });
});

describe("createLookupQueue()", () => {
  const query = { clientAddress: null, clientPort: 1, serverPort: null, wantsProcess: true };

  it("answers queries that arrive during a batch in the next one", async () => {
    const sizes: number[] = [];
    const gate = Promise.withResolvers<void>();
    const ask = createLookupQueue(async (queries) => {
      sizes.push(queries.length);
      if (sizes.length === 1) await gate.promise;
      return queries.map(({ clientPort }) => ({ uid: clientPort, process: null }));
    });
    const first = [ask({ ...query, clientPort: 1 }), ask({ ...query, clientPort: 2 })];
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const second = [3, 4, 5].map((clientPort) => ask({ ...query, clientPort }));
    gate.resolve();
    const answers = await Promise.all([...first, ...second]);
    assert.deepEqual(
      answers.map(({ uid }) => uid),
      [1, 2, 3, 4, 5],
    );
    assert.deepEqual(sizes, [2, 3]);
  });

  it("returns unknown callers for a failed batch and beyond the limit", async () => {
    const failing = createLookupQueue(() => Promise.reject(new Error("no")));
    assert.deepEqual(await failing(query), { uid: null, process: null });
    let asked = 0;
    const bounded = createLookupQueue(async (queries) => {
      asked += queries.length;
      return queries.map(() => ({ uid: 7, process: null }));
    }, 2);
    const answers = await Promise.all([bounded(query), bounded(query), bounded(query)]);
    assert.deepEqual(
      answers.map(({ uid }) => uid),
      [7, 7, null],
    );
    assert.equal(asked, 2);
  });
});
