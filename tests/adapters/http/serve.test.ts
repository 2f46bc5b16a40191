import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { Agent, request } from "undici";
import { type Peer, type Served, type ServeLimits, serve } from "../../../adapters/http/serve.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";

const local = { host: "127.0.0.1", port: 0 };

/** A raw connection and the bytes received on it. */
function dial(port: number): { socket: Socket; received: () => string; closed: Promise<void> } {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { socket, received: () => text, closed };
}

async function withServer(
  limits: Partial<ServeLimits>,
  fetch: (request: Request, peer: Peer) => Response | Promise<Response>,
  work: (served: Served) => Promise<void>,
): Promise<void> {
  const served = await serve(fetch, local, { limits });
  try {
    await work(served);
  } finally {
    await served.close(0);
  }
}

/** Limits for slow clients, small so that the tests need not wait. */
const slow = { headersTimeoutMs: 200, requestTimeoutMs: 400 };

/** Node's server has these limits; the other runtimes' replacements for it have none. */
const skip = "Deno" in globalThis || "Bun" in globalThis ? "limits of Node's server" : false;

describe("serve()", () => {
  it("reports the address of the peer, and the one that it connected to", async () => {
    await withServer(
      {},
      (_, { address, localAddress }) => Response.json({ address, localAddress }),
      async ({ port }) => {
        const answer = await fetch(`http://127.0.0.1:${port}/`);
        assert.deepEqual(await answer.json(), { address: "127.0.0.1", localAddress: "127.0.0.1" });
      },
    );
  });

  it("closes a connection whose headers never end", { skip }, async () => {
    await withServer(
      slow,
      () => new Response("never"),
      async ({ port }) => {
        const { socket, received, closed } = dial(port);
        socket.write("GET / HTTP/1.1\r\nhost: x\r\nx-slow: ");
        await closed;
        assert.match(received(), /^HTTP\/1\.1 408 /);
      },
    );
  });

  it("closes a connection whose body never ends, and keeps the others open", { skip }, async () => {
    await withServer(
      slow,
      async (incoming) => new Response(incoming.method === "POST" ? await incoming.text() : "quick"),
      async ({ port }) => {
        const { socket, closed } = dial(port);
        socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc");
        assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "quick");
        await closed;
      },
    );
  });

  it("rejects headers beyond 16 KiB", { skip }, async () => {
    await withServer(
      {},
      () => new Response("never"),
      async ({ port }) => {
        const { socket, received, closed } = dial(port);
        socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-large: ${"a".repeat(20_000)}\r\n\r\n`);
        await closed;
        assert.match(received(), /^HTTP\/1\.1 431 /);
      },
    );
  });

  it("holds at most the maximum number of connections", { skip }, async () => {
    await withServer(
      { maxConnections: 1 },
      () => new Response("mine"),
      async ({ port }) => {
        const first = dial(port);
        first.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
        await once(first.socket, "data");
        const second = dial(port);
        await second.closed;
        assert.equal(second.received(), "");
        first.socket.destroy();
      },
    );
  });

  it("finishes responses when it closes, tells the client, and cuts late ones", {
    skip,
  }, async () => {
    let answer = (_: Response) => {};
    const asked = Promise.withResolvers<void>();
    const served = await serve(() => {
      asked.resolve();
      return new Promise<Response>((resolve) => (answer = resolve));
    }, local);
    const { socket, received, closed } = dial(served.port);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await asked.promise;
    const closing = served.close(60_000);
    answer(new Response("in time"));
    await closing;
    await closed;
    assert.match(received(), /^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*in time$/i);

    const late = await serve(() => new Promise<Response>(() => {}), local);
    const cut = dial(late.port);
    cut.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(cut.socket, "connect");
    await late.close(50);
    await cut.closed;
    assert.equal(cut.received(), "");
  });

  it("does not wait for connections that are idle", async () => {
    const served = await serve(() => new Response("done"), local);
    const agent = new Agent();
    const { body } = await request(`http://127.0.0.1:${served.port}/`, { dispatcher: agent });
    await body.text();
    await served.close(600_000);
    await agent.close();
  });

  it("speaks TLS with the certificate that it is given", async () => {
    const authority = await createCertificateAuthority();
    const served = await serve(() => new Response("secret"), local, {
      tls: await authority.mintLeaf("127.0.0.1"),
    });
    const agent = new Agent({ connect: { ca: authority.certificatePem } });
    const { body } = await request(`https://127.0.0.1:${served.port}/`, { dispatcher: agent });
    assert.equal(await body.text(), "secret");
    await agent.close();
    await served.close(0);
  });

  it("rejects if the port is in use", async () => {
    await withServer(
      {},
      () => new Response(""),
      async ({ port }) => {
        await assert.rejects(
          serve(() => new Response(""), { ...local, port }),
          { code: "EADDRINUSE" },
        );
      },
    );
  });

  it("rejects an invalid certificate", { skip }, async () => {
    await assert.rejects(serve(() => new Response(""), local, { tls: { cert: "no", key: "no" } }));
  });
});
