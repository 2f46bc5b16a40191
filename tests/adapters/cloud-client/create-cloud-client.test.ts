import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { after, describe, it, mock } from "node:test";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { createCloudClient } from "../../../adapters/cloud-client/create-cloud-client.ts";
import { transportReason } from "../../../adapters/cloud-client/transport-reason.ts";
import type { CloudRequest } from "../../../core/ports/cloud-client.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";

const servers: Server[] = [];
const client = createCloudClient({
  clock: systemClock,
  roots: () => [],
  userAgent: "meter/test",
  timeouts: { connectMs: 500, headersMs: 300, bodyMs: 300 },
});

after(async () => {
  await client.close();
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.unref();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const request = (url: string, given: Partial<CloudRequest> = {}): CloudRequest => ({
  method: "GET",
  url,
  bearer: null,
  body: null,
  maxResponseBytes: 1_000,
  timeoutMs: 5_000,
  ...given,
});

describe("createCloudClient()", () => {
  it("sends the token to its own origin and to no other", async () => {
    const seen: (string | undefined)[] = [];
    const port = await listen(
      createServer((incoming, response) => {
        seen.push(incoming.headers.authorization);
        response.writeHead(307, { location: "http://127.0.0.1:1/elsewhere" }).end();
      }),
    );
    const url = `http://127.0.0.1:${port}/`;
    const bearer = { token: "secret", origin: new URL(url).origin };
    const reply = await client.send(request(url, { bearer }));
    assert.deepEqual(reply.kind === "http" && reply.status, 307);
    assert.deepEqual(seen, ["Bearer secret"]);
    for (const other of ["https://evil.example/", `http://localhost:${port}/`, "https://127.0.0.1/"]) {
      await assert.rejects(client.send(request(other, { bearer })), TypeError);
    }
    for (const wrong of ["http://cloud.company/", `http://a:b@127.0.0.1:${port}/`, "ftp://127.0.0.1/"]) {
      await assert.rejects(client.send(request(wrong)), TypeError);
    }
    assert.equal(seen.length, 1);
  });

  it("attaches one callback to a promise that cancels many requests", async () => {
    const port = await listen(createServer((_, response) => response.end("{}")));
    const cancelled = new Promise<void>(() => {});
    const waits = mock.method(cancelled, "then");
    for (let sent = 0; sent < 3; sent += 1) {
      const reply = await client.send(request(`http://127.0.0.1:${port}/`, { cancelled }));
      assert.equal(reply.kind, "http");
    }
    assert.equal(waits.mock.callCount(), 1);
  });

  it("ignores all proxies of the environment", async () => {
    const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "NODE_USE_ENV_PROXY"];
    const kept = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : "http://127.0.0.1:9";
    try {
      const port = await listen(createServer((_, response) => response.end("{}")));
      const reply = await client.send(request(`http://127.0.0.1:${port}/`));
      assert.equal(reply.kind === "http" && reply.status, 200);
    } finally {
      for (const [at, name] of names.entries()) {
        if (kept[at] === undefined) delete process.env[name];
        else process.env[name] = kept[at];
      }
    }
  });

  it("sends again after the certificates could not be read", async () => {
    const port = await listen(createServer((_, response) => response.end()));
    const failures = [new Error("too many open files")];
    const own = createCloudClient({
      clock: systemClock,
      roots() {
        for (const failure of failures.splice(0)) throw failure;
        return [];
      },
      userAgent: "meter/test",
    });
    try {
      const url = `http://127.0.0.1:${port}/`;
      assert.equal((await own.send(request(url))).kind, "transport");
      assert.equal((await own.send(request(url))).kind, "http");
    } finally {
      await own.close();
    }
  });

  it("verifies certificates regardless of the environment, and trusts the given roots", async () => {
    const authority = await createCertificateAuthority();
    const { key, cert } = await authority.mintLeaf("localhost");
    const port = await listen(createTlsServer({ key, cert }, (_, response) => response.end("{}")));
    const kept = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const untrusted = await client.send(request(`https://localhost:${port}/`));
      assert.deepEqual(untrusted, { kind: "transport", reason: "tls_failure" });
      const trusting = createCloudClient({
        clock: systemClock,
        roots: () => [authority.certificatePem],
        userAgent: "t",
      });
      const trusted = await trusting.send(request(`https://localhost:${port}/`));
      assert.equal(trusted.kind === "http" && trusted.status, 200);
      const wrongName = await trusting.send(request(`https://127.0.0.1:${port}/`));
      assert.deepEqual(wrongName, { kind: "transport", reason: "tls_failure" });
      await trusting.close();
    } finally {
      if (kept === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = kept;
    }
  });

  it("limits the duration of the whole exchange, even if the response trickles", async () => {
    const port = await listen(
      createServer((_, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write(" "), 50);
        response.on("close", () => clearInterval(drip));
      }),
    );
    const reply = await client.send(
      request(`http://127.0.0.1:${port}/`, { timeoutMs: 400, maxResponseBytes: 1e6 }),
    );
    assert.deepEqual(reply, { kind: "transport", reason: "timeout" });
  });

  it("aborts when cancelled, and reads at most the maximum size", async () => {
    const silent = await listen(createServer(() => {}));
    const cancelled = Promise.withResolvers<void>();
    const waiting = client.send(request(`http://127.0.0.1:${silent}/`, { cancelled: cancelled.promise }));
    cancelled.resolve();
    assert.deepEqual(await waiting, { kind: "transport", reason: "aborted" });
    assert.deepEqual(
      await client.send(request(`http://127.0.0.1:${silent}/`, { cancelled: cancelled.promise })),
      { kind: "transport", reason: "aborted" },
    );
    const large = await listen(createServer((_, response) => response.end("x".repeat(1_001))));
    assert.deepEqual(await client.send(request(`http://127.0.0.1:${large}/`)), {
      kind: "transport",
      reason: "invalid_answer",
    });
  });

  it("returns why there was no response", async () => {
    const garbage = await listen(createSocketServer((socket) => socket.end("hello\r\n\r\n")));
    const reset = await listen(createSocketServer((socket) => socket.resetAndDestroy()));
    const closing = createSocketServer();
    const closed = await listen(closing);
    await new Promise((resolve) => closing.close(resolve));
    const reasons = await Promise.all(
      [
        `http://127.0.0.1:${garbage}/`,
        `http://127.0.0.1:${reset}/`,
        `http://127.0.0.1:${closed}/`,
        "https://no-such-host.invalid/",
      ].map((url) => client.send(request(url))),
    );
    assert.deepEqual(
      reasons.map((reply) => reply.kind === "transport" && reply.reason),
      ["invalid_answer", "connection_reset", "connection_refused", "dns_failure"],
    );
    assert.equal(transportReason(new Error("what")), "other");
  });
});
