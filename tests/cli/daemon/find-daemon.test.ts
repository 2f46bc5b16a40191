import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { takeExclusiveLock } from "../../../adapters/lock/exclusive-lock.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { findDaemon, lockFile, stateFile } from "../../../cli/daemon/daemon-process.ts";
import { findDaemonOrHolder } from "../../../cli/daemon/find-holder.ts";

const startedAt = "2026-11-21T10:00:00.000Z";

const healthy = (response: ServerResponse) =>
  response.end(JSON.stringify({ status: "ok", version: "0.4.0", started_at: startedAt }));

/** Runs the work with a home and a server in this process that answers as its daemon would. `announce()` writes its `daemon.json`. */
async function withServer<T>(
  answer: (response: ServerResponse) => void,
  work: (home: string, announce: (pid: number) => void) => Promise<T>,
): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), "meter-find-"));
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const state = { version: "0.4.0", proxy_port: 1, api_port: port, started_at: startedAt };
  try {
    return await work(home, (pid) => writeFileSync(stateFile(home), JSON.stringify({ ...state, pid })));
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true });
  }
}

/** Answers the requests in turn. Returns whether the daemon was found, and the number of requests. */
async function findAfter(
  answers: readonly ((response: ServerResponse) => void)[],
  pid = process.pid,
): Promise<[isFound: boolean, requests: number]> {
  let requests = 0;
  return await withServer(
    (response) => answers[requests++]?.(response),
    async (home, announce) => {
      announce(pid);
      return [(await findDaemon(home, { timeoutMs: 1_000 })) !== null, requests];
    },
  );
}

const silent = () => {};
const resets = (response: ServerResponse) => void response.destroy();
const refuses = (response: ServerResponse) => void response.writeHead(503).end();

describe("findDaemon()", () => {
  it("asks again if a daemon whose process exists did not answer in time", async () => {
    for (const first of [silent, resets, refuses])
      assert.deepEqual(await findAfter([first, healthy]), [true, 2]);
  });

  it("finds nothing if it does not answer the second time either", async () => {
    assert.deepEqual(await findAfter([resets, resets]), [false, 2]);
  });

  it("does not ask again if the process is gone, or another daemon answers", async () => {
    assert.deepEqual(await findAfter([resets, healthy], 2 ** 30), [false, 1]);
    const other = (response: ServerResponse) => response.end(JSON.stringify({ started_at: "another" }));
    assert.deepEqual(await findAfter([other, healthy]), [false, 1]);
  });
});

describe("findDaemonOrHolder()", () => {
  it("finds a daemon at whatever moment it writes its daemon.json", () =>
    withServer(healthy, async (home, announce) => {
      const lock = await takeExclusiveLock(createSqliteOpener(), lockFile(home));
      for (let moment = 0; moment < 30; moment += 1) {
        writeFileSync(stateFile(home), "");
        const looking = findDaemonOrHolder(home);
        for (let turn = 0; turn < moment; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        announce(process.pid);
        assert.equal((await looking).running?.pid, process.pid, `after ${moment} turns of the event loop`);
      }
      lock?.release();
    }));
});
