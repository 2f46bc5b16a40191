import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { findDaemon, stateFile } from "../../../cli/daemon/daemon-process.ts";

const startedAt = "2026-11-21T10:00:00.000Z";

const healthy = (response: ServerResponse) =>
  response.end(JSON.stringify({ status: "ok", version: "0.4.0", started_at: startedAt }));

/** Answers the requests in turn, as a daemon in this process would. Returns whether it was found, and the number of requests. */
async function findAfter(
  answers: readonly ((response: ServerResponse) => void)[],
  pid = process.pid,
): Promise<[isFound: boolean, requests: number]> {
  const home = mkdtempSync(join(tmpdir(), "meter-find-"));
  let requests = 0;
  const server = createServer((_, response) => answers[requests++]?.(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const state = { pid, version: "0.4.0", proxy_port: 1, api_port: port, started_at: startedAt };
  writeFileSync(stateFile(home), JSON.stringify(state));
  try {
    return [(await findDaemon(home, { timeoutMs: 1_000 })) !== null, requests];
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true });
  }
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
