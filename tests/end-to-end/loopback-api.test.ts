import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { hostname } from "node:os";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import { version } from "../../cli/program/version.ts";
import { cloudStateSchema, connectStatusSchema, healthSchema } from "../../core/wire/loopback.ts";
import { parseWire } from "../../core/wire/parse.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

/** A user without rights. */
const NOBODY = 65_534;

/** Why no other user can be simulated here, or false. */
const withoutOtherUsers =
  process.platform === "linux" && process.getuid?.() === 0 ? false : "needs root on Linux";

describe("the loopback API of a daemon", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let meter: MeterProcess;
  let token = "";

  before(async () => {
    meter = await startMeter(createHome(["[proxy]", "port = 0", "[api]", "port = 0"]));
    token = readFileSync(tokenFile(meter.home), "utf8").trim();
  });
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });

  /** Sends bytes unchanged and returns the status of the response. */
  async function send(text: string): Promise<number> {
    const socket = connect(meter.apiPort, "127.0.0.1");
    await once(socket, "connect");
    socket.write(text);
    let answer = "";
    for await (const piece of socket) answer += String(piece);
    return Number(answer.split(" ")[1]);
  }

  it("answers this user's programs, and on Linux without the secret", async () => {
    const asked = await requestDaemon(meter.apiPort, "/v1/stats");
    assert.equal(asked.status, process.platform === "linux" ? 200 : 401);
    assert.equal((await requestDaemon(meter.apiPort, "/v1/stats", token)).status, 200);
    const paired = await requestDaemon(meter.apiPort, "/v1/cloud/state");
    if (process.platform !== "win32") assert.equal(statSync(tokenFile(meter.home)).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(paired.body), {
      paired: false,
      version,
      hostname: hostname(),
      port: meter.apiPort,
    });
  });

  it("returns exactly the responses that core/wire defines", async () => {
    for (const [path, schema] of [
      ["/health", healthSchema],
      ["/v1/cloud/state", cloudStateSchema],
      ["/v1/cloud/connect/status", connectStatusSchema],
    ] as const) {
      const { status, body } = await requestDaemon(meter.apiPort, path);
      const value: unknown = JSON.parse(body);
      assert.deepEqual([status, parseWire<unknown>(schema, value)], [200, { ok: true, value }], path);
    }
  });

  it("refuses other users of this machine, with or without the secret", {
    skip: withoutOtherUsers,
  }, async () => {
    const ask = async (uid: number, path: string) => {
      const script = `exec 3<>/dev/tcp/127.0.0.1/${meter.apiPort}; printf 'GET ${path} HTTP/1.1\\r\\nHost: 127.0.0.1:${meter.apiPort}\\r\\nAuthorization: Bearer ${token}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3`;
      const child = spawn("/bin/bash", ["-c", script], {
        uid,
        stdio: ["ignore", "pipe", "inherit"],
        env: {},
        cwd: "/",
      });
      let answer = "";
      for await (const piece of child.stdout) answer += String(piece);
      return answer;
    };
    for (const path of ["/health", "/", "/v1/stats", "/v1/cloud/state"]) {
      assert.match(await ask(NOBODY, path), /^HTTP\/1\.1 403 [\s\S]*"code":"other_user"/, path);
      assert.match(await ask(0, path), /^HTTP\/1\.1 200 /, path);
    }
  });

  it("refuses requests with no Host, several, or one that differs from the URL", async () => {
    const own = `127.0.0.1:${meter.apiPort}`;
    for (const name of [own, `localhost:${meter.apiPort}`, `[::1]:${meter.apiPort}`])
      assert.equal(
        await send(`GET /health HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`),
        200,
        name,
      );
    assert.equal(await send("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n"), 400);
    assert.ok((await send("GET /health HTTP/1.0\r\n\r\n")) >= 400);
    assert.equal(
      await send(`GET /health HTTP/1.1\r\nHost: ${own}\r\nHost: evil.test\r\nConnection: close\r\n\r\n`),
      400,
    );
    assert.ok(
      (await send(`GET http://evil.test/health HTTP/1.1\r\nHost: ${own}\r\nConnection: close\r\n\r\n`)) >=
        400,
    );
    for (const name of [
      "evil.test",
      `evil.test:${meter.apiPort}`,
      "127.0.0.1",
      `2130706433:${meter.apiPort}`,
      `0.0.0.0:${meter.apiPort}`,
    ])
      assert.equal(
        await send(`GET /health HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`),
        403,
        name,
      );
  });

  it("accepts the origin of the currently configured cloud, and no longer that of the previous one", async () => {
    const [first, second] = ["https://first.meter.company", "https://second.meter.company"];
    const listed = "https://dashboard.company";
    const config = ["[proxy]", "port = 0", "[api]", "port = 0", `dashboard_origins = ["${listed}"]`];
    const home = createHome(config);
    const other = await startMeter(home);
    const secret = readFileSync(tokenFile(home), "utf8").trim();
    const answersTo = async (origin: string) => {
      const asking = request({
        host: "127.0.0.1",
        port: other.apiPort,
        path: "/v1/cloud/state",
        headers: { origin, connection: "close" },
      });
      const [answer] = await once(asking.end(), "response");
      answer.resume();
      return [answer.statusCode, answer.headers["access-control-allow-origin"]];
    };
    try {
      assert.deepEqual(await answersTo(first), [403, undefined]);
      for (const [now, before] of [
        [first, second],
        [second, first],
      ] as const) {
        createHome([...config, "[cloud]", `base_url = "${now}"`], home);
        const reload = await requestDaemon(other.apiPort, "/v1/cloud/reload", secret, { method: "POST" });
        assert.equal(reload.status, 200);
        assert.deepEqual(await answersTo(now), [200, now]);
        assert.deepEqual(await answersTo(before), [403, undefined]);
        assert.deepEqual(await answersTo(listed), [200, listed]);
      }
    } finally {
      await other.stop();
      removeHome(home);
    }
  });

  it("stops while clients listen to events, and ends their streams", async () => {
    const other = await startMeter(createHome(["[proxy]", "port = 0", "[api]", "port = 0"]));
    const secret = readFileSync(tokenFile(other.home), "utf8").trim();
    const listening = request({
      host: "127.0.0.1",
      port: other.apiPort,
      path: "/v1/events",
      headers: { authorization: `Bearer ${secret}` },
    });
    listening.end();
    const [events] = await once(listening, "response");
    assert.equal(events.headers["content-type"], "text/event-stream; charset=utf-8");
    let ended = false;
    events.resume().on("end", () => (ended = true));
    assert.equal((await other.stop()).code, 0);
    await waitFor("the events to end", () => ended);
    removeHome(other.home);
  });
});
