import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createSocketQuery, type SocketEnds } from "../../../adapters/process-table/socket-query.ts";
import { isAlive } from "../../../cli/daemon/daemon-process.ts";
import { createCleanup } from "../../daemon/proxy/proxy.rig.ts";
import { waitFor } from "../../end-to-end/meter-process.rig.ts";

const onLinux = process.platform === "linux" ? false : "only Linux has netlink sockets";
const withPerl = existsSync("/usr/bin/perl") ? onLinux : "Perl is not installed";

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Connects, and returns the client's end as the server sees it. */
async function open(listenOn: string, host: string): Promise<{ client: Socket; ends: SocketEnds }> {
  const server = createServer().listen(0, listenOn);
  const connected = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise((resolve) => server.once("listening", resolve));
  const client = connect((server.address() as AddressInfo).port, host);
  const peer = await connected;
  cleanup.add(() => {
    client.destroy();
    peer.destroy();
    server.close();
  });
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = peer;
  const ends = { localAddress: remoteAddress, localPort: remotePort };
  return { client, ends: { ...ends, remoteAddress: localAddress, remotePort: localPort } };
}

const uid = process.geteuid?.();

describe("createSocketQuery()", { skip: withPerl }, () => {
  for (const [listenOn, host] of [
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "::ffff:127.0.0.1"],
    ["::", "127.0.0.1"],
    ["::1", "::1"],
  ] as const) {
    it(`finds the user and the inode of a client of ${listenOn} that connects to ${host}`, async () => {
      const { ends } = await open(listenOn, host);
      const [found] = await createSocketQuery()([ends]);
      assert.equal(found?.uid, uid);
      const table = readFileSync("/proc/net/tcp", "latin1") + readFileSync("/proc/net/tcp6", "latin1");
      assert.match(table, new RegExp(` ${found?.inode} `));
    });
  }

  it("answers several queries in order, and finds no other socket", async () => {
    const { ends } = await open("127.0.0.1", "127.0.0.1");
    const query = createSocketQuery();
    const answers = await query([
      { ...ends, localPort: ends.remotePort, remotePort: 9 }, // the server listens there
      ends,
      { ...ends, remoteAddress: "127.0.0.2" },
      { ...ends, localAddress: "127.0.0.2" },
    ]);
    assert.deepEqual(
      answers.map((each) => each?.uid ?? null),
      [null, uid, null, null],
    );
    const [one, two] = await Promise.all([query([{ ...ends, localPort: 1 }]), query([ends])]);
    assert.deepEqual([one[0], two[0]?.uid], [null, uid]);
  });

  // The user of a closed socket is unknown, and reported as 0.
  it("reports a socket that its process has closed with inode 0", async () => {
    const { client, ends } = await open("127.0.0.1", "127.0.0.1");
    client.destroy();
    const [found] = await createSocketQuery()([ends]);
    assert.equal(found?.inode, "0");
  });

  it("finds nothing at other IPv6 addresses, names, and between families", async () => {
    const { ends } = await open("127.0.0.1", "127.0.0.1");
    const query = createSocketQuery({ program: "/nonexistent/never-started" });
    for (const remoteAddress of ["::1", "fe80::1", "localhost", "", "1 2"])
      assert.deepEqual(await query([{ ...ends, remoteAddress }]), [null]);
  });
});

describe("the program that queries the kernel", { skip: onLinux }, () => {
  const ends = { localAddress: "127.0.0.1", localPort: 1, remoteAddress: "127.0.0.1", remotePort: 2 };
  let folder: string;
  let program: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-query-"));
    program = join(folder, "perl");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const install = (script: string) => writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const hang = () => install(`echo $$ > '${folder}/pid'; PATH=/usr/bin:/bin; exec sleep 1000`);
  const startedPid = () =>
    waitFor("the program to start", () => {
      const text = existsSync(join(folder, "pid")) ? readFileSync(join(folder, "pid"), "utf8") : "";
      return text.endsWith("\n") && Number(text);
    });

  it("is started once, with the family, addresses and ports", async () => {
    install(`while read line; do echo "$line" >> '${folder}/log'; echo 1000,77; done`);
    const query = createSocketQuery({ program });
    cleanup.add(() => query([]));
    assert.deepEqual(await query([ends]), [{ uid: 1000, inode: "77" }]);
    assert.deepEqual(await query([ends]), [{ uid: 1000, inode: "77" }]);
    assert.equal(readFileSync(join(folder, "log"), "utf8"), "2,7f000001,1,7f000001,2\n".repeat(2));
  });

  it("is not trusted if it answers too few queries or anything else", async () => {
    for (const answer of ["1000,77", "1000,77 1000,77 1000,77", "", "a,b c,d"]) {
      install(`read line; echo '${answer}'; read line`);
      assert.deepEqual(await createSocketQuery({ program })([ends, ends]), [null, null], answer);
    }
  });

  it("is killed if it hangs, and not started again for a minute", async () => {
    hang();
    let now = 0;
    const query = createSocketQuery({ program, timeoutMs: 200, monotonicMs: () => now });
    assert.deepEqual(await query([ends]), [null]);
    install("while read line; do echo 1,2; done");
    now = 59_999;
    assert.deepEqual(await query([ends]), [null]);
    now = 60_000;
    assert.deepEqual(await query([ends]), [{ uid: 1, inode: "2" }]);
  });

  it("is not started again for a minute if it exits or is missing", async () => {
    let now = 0;
    const query = createSocketQuery({ program, monotonicMs: () => now });
    assert.deepEqual(await query([ends]), [null], "it is missing");
    install("exit 1");
    now = 60_000;
    assert.deepEqual(await query([ends]), [null], "it exits");
    install("while read line; do echo 1,2; done");
    now = 119_999;
    assert.deepEqual(await query([ends]), [null], "it is not started yet");
    now = 120_000;
    assert.deepEqual(await query([ends]), [{ uid: 1, inode: "2" }]);
  });

  it("is left out if Node throws instead of starting it", async () => {
    assert.deepEqual(await createSocketQuery({ program: "\0" })([ends]), [null]);
  });

  it("is killed by the signal, and not started after it", async () => {
    hang();
    const stopped = new AbortController();
    const query = createSocketQuery({ program, timeoutMs: 1_000_000, signal: stopped.signal });
    const answer = query([ends]);
    const pid = await startedPid();
    stopped.abort();
    assert.deepEqual(await answer, [null]);
    await waitFor("the program to end", () => !isAlive(pid as number));
    rmSync(join(folder, "pid"));
    assert.deepEqual(await query([ends]), [null]);
  });
});
