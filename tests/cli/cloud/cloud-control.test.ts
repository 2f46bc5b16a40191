import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { serve } from "../../../adapters/http/serve.ts";
import { withCloud } from "../../../cli/cloud/cloud-control.ts";
import { type RunningDaemon, stateFile, tokenFile } from "../../../cli/daemon/daemon-process.ts";

describe("withCloud() beside a daemon", () => {
  it("cancels the daemon's pairing before it disconnects, and makes the daemon reload afterwards", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-cloud-control-"));
    const started_at = "2026-11-21T10:00:00.000Z";
    const asked: string[] = [];
    const served = await serve(
      (request) => {
        const { pathname } = new URL(request.url);
        asked.push(`${request.method} ${pathname} ${request.headers.get("authorization")}`);
        return Response.json(pathname === "/health" ? { status: "ok", started_at } : {});
      },
      { host: "127.0.0.1", port: 0 },
    );
    try {
      const daemon: RunningDaemon = {
        pid: process.pid,
        version: "0.4.0",
        proxy_port: 1,
        api_port: served.port,
        started_at,
      };
      writeFileSync(stateFile(home), JSON.stringify(daemon));
      writeFileSync(tokenFile(home), "secret\n");
      const result = await withCloud({ home, env: {}, notice() {} }, async (cloud) => {
        asked.length = 0;
        return await cloud.disconnect();
      });
      assert.deepEqual(result, { kind: "not_connected" });
      assert.deepEqual(asked, [
        "POST /v1/cloud/connect/cancel Bearer secret",
        "POST /v1/cloud/reload Bearer secret",
      ]);
    } finally {
      await served.close(0);
      rmSync(home, { recursive: true, force: true });
    }
  });
});
