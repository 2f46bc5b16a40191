import assert from "node:assert/strict";
import { connect } from "node:net";
import { it } from "node:test";
import { sql } from "kysely";
import { type Peer, serve } from "../../adapters/http/serve.ts";
import { MAX_PAYLOAD_BYTES } from "../../cloud/create-parts.ts";
import { BODY_REQUEST_MAX_BYTES } from "../../core/wire/body-envelope.ts";
import { BATCH_MAX_BYTES } from "../../core/wire/metadata-batch.ts";
import { batch, type CloudRig, createRig, record } from "./kit/cloud-rig.ts";
import { describeOnPostgres } from "./kit/engines.ts";

/** Sends a request as given and returns what was received until a head was complete or the connection closed. */
async function exchange(
  port: number,
  write: (send: (bytes: string | Uint8Array) => boolean) => void,
): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  return (await new Promise((resolve) => {
    socket.on("data", (chunk) => {
      received += String(chunk);
      if (/\r\n\r\n/.test(received)) resolve(received);
    });
    socket.on("error", () => resolve(received));
    socket.on("close", () => resolve(received));
    write((bytes) => socket.write(bytes));
  }).finally(() => socket.destroy())) as string;
}

const head = (method: string, path: string, token: string, more: string) =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n${more}\r\n\r\n`;

describeOnPostgres("the cloud, over a real socket", (engine) => {
  async function withServer(rig: CloudRig, work: (port: number) => Promise<void>): Promise<void> {
    const app = rig.app({ rateLimits: { perKey: 1e6 } });
    const served = await serve((request, peer: Peer) => app.fetch(request, { peer: peer.address }), {
      host: "127.0.0.1",
      port: 0,
    });
    try {
      await work(served.port);
    } finally {
      await served.close(0);
      await rig.close();
    }
  }

  it("refuses a Content-Length that is too large before the first byte of the body", async () => {
    const rig = await createRig(engine);
    const { token } = await rig.addWorkspace();
    await withServer(rig, async (port) => {
      for (const [path, most] of [
        ["/v1/requests/batch", BATCH_MAX_BYTES],
        [`/v1/requests/${rig.uuid()}/body`, BODY_REQUEST_MAX_BYTES],
      ] as const) {
        const answer = await exchange(port, (send) =>
          send(head("POST", path, token, `content-length: ${most + 1}`)),
        );
        assert.match(answer, /^HTTP\/1\.1 413 /, path);
      }
    });
  });

  it("counts a stream without a length, and refuses it once it is too large", async () => {
    const rig = await createRig(engine);
    const { token } = await rig.addWorkspace();
    await withServer(rig, async (port) => {
      const piece = "x".repeat(65_536);
      let sent = 0;
      const answer = await exchange(port, (send) => {
        send(head("POST", "/v1/requests/batch", token, "transfer-encoding: chunked"));
        for (; sent <= BATCH_MAX_BYTES; sent += piece.length) send(`10000\r\n${piece}\r\n`);
      });
      assert.match(answer, /^HTTP\/1\.1 413 /);
    });
  });

  it("refuses JSON that nests as deeply as the size allows, and keeps serving", async () => {
    const rig = await createRig(engine);
    const { token } = await rig.addWorkspace();
    await withServer(rig, async (port) => {
      const url = `http://127.0.0.1:${port}/v1/requests/batch`;
      const headers = { authorization: `Bearer ${token}` };
      for (const body of [
        "[".repeat(2_000_000),
        `{"records":${'{"a":'.repeat(100_000)}1${"}".repeat(100_001)}`,
      ]) {
        assert.equal((await fetch(url, { method: "POST", headers, body })).status, 400);
      }
      const fine = JSON.stringify(batch(record(rig.uuid())));
      assert.equal((await fetch(url, { method: "POST", headers, body: fine })).status, 200);
    });
  });

  it("cancels a statement that takes too long: 503 with Retry-After, and the next request is answered", async () => {
    const rig = await createRig(engine, { database: { statementTimeoutMs: 500 } });
    const { token } = await rig.addWorkspace();
    await withServer(rig, async (port) => {
      let release = () => {};
      const taken = Promise.withResolvers<void>();
      const locked = rig.db.transaction().execute(async (trx) => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
        await sql`lock table requests in access exclusive mode`.execute(trx);
        taken.resolve();
        await new Promise<void>((resolve) => (release = resolve));
      });
      await taken.promise;
      const post = () =>
        fetch(`http://127.0.0.1:${port}/v1/requests/batch`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify(batch(record(rig.uuid()))),
        });
      const answer = await post();
      assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "5"]);
      release();
      await locked;
      assert.equal((await post()).status, 200);
    });
  });

  it("answers 503 with Retry-After to requests that get no connection in time, and serves the others", async () => {
    const rig = await createRig(engine, { database: { maxConnections: 2, acquireTimeoutMs: 300 } });
    const { token } = await rig.addWorkspace();
    await withServer(rig, async (port) => {
      const released = Promise.withResolvers<void>();
      const taken = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const held = taken.map(({ resolve }) =>
        rig.db.connection().execute(() => {
          resolve();
          return released.promise;
        }),
      );
      await Promise.all(taken.map(({ promise }) => promise));
      const whoami = () =>
        fetch(`http://127.0.0.1:${port}/v1/daemon/whoami`, { headers: { authorization: `Bearer ${token}` } });
      const turnedAway = await Promise.all(Array.from({ length: 20 }, whoami));
      for (const { status, headers } of turnedAway) {
        assert.deepEqual([status, headers.get("retry-after")], [503, "5"]);
      }
      released.resolve();
      await Promise.all(held);
      // One at a time for each connection, so that none of them waits.
      for (let round = 1; round <= 10; round += 1) {
        const served = await Promise.all([whoami(), whoami()]);
        assert.deepEqual(
          served.map(({ status }) => status),
          [200, 200],
        );
      }
    });
  });

  /** A request whose body is sent when the test says so. */
  function slowRequest(path: string, token: string, headers: Record<string, string> = {}) {
    const reading = Promise.withResolvers<void>();
    let controller: ReadableStreamDefaultController | undefined;
    const body = new ReadableStream(
      {
        start: (started) => void (controller = started),
        pull: () => reading.resolve(),
      },
      { highWaterMark: 0 },
    );
    const request = new Request(`http://cloud.test${path}`, {
      ...{ method: "POST", headers: { authorization: `Bearer ${token}`, ...headers }, body, duplex: "half" },
    });
    const end = (bytes: Uint8Array) => {
      controller?.enqueue(bytes);
      controller?.close();
    };
    return { request, reading: reading.promise, end };
  }
  const EMPTY = new TextEncoder().encode("{}");

  it("processes other requests while bodies arrive slowly", async () => {
    const rig = await createRig(engine);
    try {
      const app = rig.app({ concurrentUploads: 2 });
      const [slow, quick] = [await rig.addWorkspace({ storePromptContent: true }), await rig.addWorkspace()];
      const sent = [1, 2].map(() => slowRequest(`/v1/requests/${rig.uuid()}/body`, slow.token));
      const answers = sent.map(({ request }) => app.request(request));
      await Promise.all(sent.map(({ reading }) => reading));
      const known = { headers: { authorization: `Bearer ${quick.token}` } };
      const whoami = app.request("/v1/daemon/whoami", known);
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      // Longer than a request waits for its turn.
      rig.clock.advance(10_000);
      assert.equal((await whoami).status, 200);
      for (const { end } of sent) end(EMPTY);
      for (const answer of answers) assert.equal((await answer).status, 422);
    } finally {
      await rig.close();
    }
  });

  it("refuses a workspace's requests whose payloads take more than its memory, and serves the others", async () => {
    const rig = await createRig(engine);
    try {
      const app = rig.app();
      const [large, other] = [await rig.addWorkspace(), await rig.addWorkspace()];
      const path = "/v1/requests/batch";
      // Its token must be known, or its first requests count for its address.
      const known = { headers: { authorization: `Bearer ${large.token}` } };
      assert.equal((await app.request("/v1/daemon/whoami", known)).status, 200);
      const sent = Array.from({ length: MAX_PAYLOAD_BYTES / 4 / BATCH_MAX_BYTES }, () =>
        slowRequest(path, large.token, { "content-length": String(BATCH_MAX_BYTES) }),
      );
      const answers = sent.map(({ request }) => app.request(request));
      await Promise.all(sent.map(({ reading }) => reading));
      const send = (token: string, headers: Record<string, string> = {}) => {
        const { request, end } = slowRequest(path, token, headers);
        end(EMPTY);
        return app.request(request);
      };
      const refused = await send(large.token);
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
      const stated = await send(large.token, { "content-length": "2" });
      assert.equal(stated.status, 503);
      assert.equal((await send(other.token)).status, 422);
      for (const { end } of sent) end(EMPTY);
      for (const answer of answers) assert.equal((await answer).status, 422);
      assert.equal((await send(large.token)).status, 422);
    } finally {
      await rig.close();
    }
  });
});
