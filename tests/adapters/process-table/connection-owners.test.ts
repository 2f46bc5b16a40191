import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import type { MessagePort } from "node:worker_threads";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import {
  findSocket,
  indexDiagnosedSockets,
  indexSockets,
} from "../../../adapters/process-table/kernel-sockets.ts";
import { createPortBatch } from "../../../adapters/process-table/lookup-port.ts";
import { createLinuxConnectionOwners } from "./platform-tables.rig.ts";

const row = (local: string, remote: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

/** 52514 -> 8765 from 127.0.0.2 (user 9) and 127.0.0.1 (user 1000), the server's end, and an IPv6 client. */
const table =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
  row("0100007F:223D", "0100007F:CD22", 5, 10) +
  row("0200007F:CD22", "0100007F:223D", 9, 11) +
  row("0100007F:CD22", "0100007F:223D", 1000, 12) +
  row("0000000000000000FFFF00000100007F:CD23", "0000000000000000FFFF00000100007F:223D", 1001, 13) +
  row("00000000000000000000000001000000:CD24", "00000000000000000000000001000000:223D", 1002, 14) +
  row("0100007F:CD25", "0100007F:223D", 0, 0);

const at = (clientAddress: string, clientPort: number, serverPort = 8765) => ({
  clientAddress,
  clientPort,
  serverPort,
});

const findOwner = (text: string, end: ReturnType<typeof at>): number | null =>
  findSocket(indexSockets([text], new Set([end.clientPort])), end)?.uid ?? null;

describe("findSocket()", () => {
  it("finds the user of the client's end", () => {
    assert.equal(findOwner(table, at("127.0.0.1", 0xcd22)), 1000);
    assert.equal(findOwner(table, at("127.0.0.1", 0xcd23)), 1001);
    assert.equal(findOwner(table, at("::1", 0xcd24)), 1002);
  });

  it("ignores the same port at another address", () => {
    assert.equal(findOwner(table, at("127.0.0.2", 0xcd22)), 9);
    assert.equal(findOwner(table, at("127.0.0.3", 0xcd22)), null);
  });

  it("ignores the same port towards another server, in the tables and in the output of ss", () => {
    const client = { clientAddress: "127.0.0.1", clientPort: 0xcd22, serverPort: 8765 };
    const rows = row("0100007F:CD22", "0200007F:223D", 9, 11) + row("0100007F:CD22", "0100007F:223D", 5, 12);
    const mapped = "0000000000000000FFFF0000";
    const output =
      "ESTAB 0 0 127.0.0.1:52514 127.0.0.2:8765 uid:9 ino:11 sk:1\n" +
      "ESTAB 0 0 [::ffff:127.0.0.1]:52514 [::ffff:127.0.0.1]:8765 uid:5 ino:12 sk:2\n" +
      "LISTEN 0 511 *:52514 *:* uid:7 ino:13 sk:3\n";
    for (const index of [
      indexSockets([rows], new Set([0xcd22])),
      indexSockets([rows.replaceAll(/ (?=0[12]00007F)/g, ` ${mapped}`)], new Set([0xcd22])),
      indexDiagnosedSockets(output),
    ]) {
      const uidOf = (serverAddress?: string) =>
        findSocket(index, { ...client, ...(serverAddress !== undefined && { serverAddress }) })?.uid;
      assert.equal(uidOf("127.0.0.1"), 5);
      assert.equal(uidOf("::ffff:127.0.0.2"), 9);
      assert.equal(uidOf("127.0.0.3"), undefined);
      assert.equal(uidOf(), 9, "the first one, if the server is unknown");
    }
  });

  it("returns null for other ports, unknown addresses and a truncated table", () => {
    assert.equal(findOwner(table, at("127.0.0.1", 0xcd22, 8766)), null);
    assert.equal(findOwner(table, at("127.0.0.1", 1)), null);
    assert.equal(findOwner(table, at("fe80::1%lo", 0xcd22)), null);
    assert.equal(findOwner("   1: 0100007F:CD22 0100007F:223D 01", at("127.0.0.1", 0xcd22)), null);
    assert.equal(findOwner("", at("127.0.0.1", 0xcd22)), null);
  });
});

describe("createLinuxConnectionOwners()", () => {
  it("distinguishes this user from others, and returns unknown if it cannot", async () => {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    try {
      mkdirSync(join(proc, "net"));
      writeFileSync(join(proc, "net/tcp"), table);
      const owners = createLinuxConnectionOwners({ proc, ownUid: 1000 });
      assert.equal(await owners.ownerOf(at("127.0.0.1", 0xcd22)), "self");
      assert.equal(await owners.ownerOf(at("127.0.0.2", 0xcd22)), "other");
      // Closed before the lookup: the kernel no longer knows its owner.
      assert.equal(await owners.ownerOf(at("127.0.0.1", 0xcd25)), "other");
      assert.equal(await owners.ownerOf(at("127.0.0.1", 7)), "unknown");
      const nowhere = createLinuxConnectionOwners({ proc: join(proc, "none"), ownUid: 1000 });
      assert.equal(await nowhere.ownerOf(at("127.0.0.1", 0xcd22)), "unknown");
      const asking = createLinuxConnectionOwners({
        proc: join(proc, "none"),
        ownUid: 1000,
        query: async (sockets) => sockets.map(() => ({ uid: 1000, inode: "12" })),
      });
      const known = { ...at("127.0.0.1", 0xcd22), serverAddress: "127.0.0.1" };
      assert.equal(await asking.ownerOf(known), "self", "without the tables, where both ends are known");
    } finally {
      rmSync(proc, { recursive: true, force: true });
    }
    assert.equal(createCallerLookup("darwin").owners, null);
    assert.equal(createCallerLookup("win32").owners, null);
  });

  it("returns self for a real connection of this process", {
    skip: process.platform === "linux" ? false : "reads Linux's procfs",
  }, async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = connect(port, "127.0.0.1");
    const [accepted] = await once(server, "connection");
    const lookup = createCallerLookup();
    try {
      // The thread may take longer to start than a search for an owner is allowed.
      await lookup.processTable.lookup({ clientPort: accepted.remotePort, proxyPort: port });
      const owner = await lookup.owners?.ownerOf({
        clientAddress: accepted.remoteAddress,
        clientPort: accepted.remotePort,
        serverPort: port,
      });
      assert.equal(owner, "self");
    } finally {
      await lookup.close();
      client.destroy();
      accepted.destroy();
      server.close();
    }
  });

  it("does not know the owner while the system refuses a thread", async () => {
    // `new Worker()` throws for this address, as it does if there are too many threads.
    const lookup = createCallerLookup("linux", undefined, new URL("http://example.com"));
    const disconnect = lookup.connect(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await lookup.owners?.ownerOf(at("127.0.0.1", 1)), "unknown");
    disconnect();
    await lookup.close();
  });

  it("answers through a port that was opened before its thread started", {
    skip: process.platform === "linux" ? false : "reads Linux's procfs",
  }, async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = connect(port, "127.0.0.1");
    const [accepted] = await once(server, "connection");
    const lookup = createCallerLookup();
    const ports: MessagePort[] = [];
    const disconnect = lookup.connect((opened) => ports.push(opened));
    try {
      const [opened] = ports;
      assert.ok(opened !== undefined);
      const query = {
        clientAddress: accepted.remoteAddress,
        clientPort: accepted.remotePort,
        serverPort: port,
        wantsProcess: false,
      };
      const [answer] = await createPortBatch(opened)([query]);
      assert.equal(answer?.uid, process.geteuid?.());
    } finally {
      disconnect();
      for (const opened of ports) opened.close();
      await lookup.close();
      client.destroy();
      accepted.destroy();
      server.close();
    }
  });
});
