import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { expectedRow, toComparable } from "./expected-rows.rig.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { askForTunnel, dialProvider, dialTcp, rawCalls, receive, writeRequest } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("bad input through the whole daemon", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  /** A provider on whose connections a test writes any bytes. */
  let answer: (socket: Socket) => void = () => {};
  const rogue = createServer((socket) => {
    socket.on("error", () => {});
    answer(socket);
  });
  const roguePort = () => (rogue.address() as AddressInfo).port;

  before(async () => {
    rogue.listen(0, "127.0.0.1");
    await once(rogue, "listening");
  });
  after(() => rogue.close());
  // Over plain HTTP, so that a test writes the provider's bytes itself. The proxy gets its requests in absolute form.
  const rig = useSimulatedMeter("bad input", () => [
    "[[providers]]",
    'host = "127.0.0.1"',
    `port = ${roguePort()}`,
    'provider = "rogue"',
    'api = "openai"',
  ]);
  // After each bad input, the next call is metered exactly and no connection stays open.
  afterEach(async () => {
    const call = rawCalls.anthropic!("gzip", true);
    const socket = await dialProvider(rig.meter, call.host);
    const { over } = receive(socket);
    socket.write(writeRequest(call, true, createSeededRandom("afterwards")));
    await over;
    await rig.simulation.idle();
    const entry = rig.simulation.calls.at(-1)!;
    const row = await waitFor("its row", async () =>
      (await rig.meter.rows()).find((each) => each.providerResponseId === entry.responseId),
    );
    assert.deepEqual(toComparable(row), expectedRow(entry));
    await waitFor("no connection to be open", async () => (await rig.meter.status()).proxy.connections === 0);
  });

  it("is counted if the client does not trust the certificate", async () => {
    const failHandshake = async () => {
      const { socket } = await askForTunnel(rig.meter.proxyPort, "api.openai.com:443");
      const tls = connectTls({ socket, servername: "api.openai.com", ca: rig.simulation.caPem });
      const [error] = await once(tls, "error");
      assert.match(String((error as NodeJS.ErrnoException).code), /VERIFY|CERT|SIGNATURE/);
    };
    await failHandshake();
    await waitFor("the count", async () => (await rig.meter.status()).proxy.counters.endedUnused > 0);
    assert.match((await rig.meter.run(["status"])).stdout, /meter run/);
    // This client has sent no request yet, which would show that it trusts the certificate. It closes without an alert, as Node
    // does. Its process is looked up in the background, which on a busy machine can come after the end of the connection: so
    // it connects again, as such clients do.
    if (process.platform === "linux")
      await waitFor("the program's name", async () => {
        await failHandshake();
        return /^\S+(?: \(node\))? ended \d[\s\S]*NODE_EXTRA_CA_CERTS to /m.test(
          (await rig.meter.run(["status"])).stdout,
        );
      });
  });

  /** Writes the bytes to the proxy's port and returns everything received until it closed. */
  async function send(bytes: string | Buffer, end = false): Promise<string> {
    const socket = await dialTcp(rig.meter.proxyPort);
    const { over } = receive(socket);
    if (end) socket.end(bytes);
    else socket.write(bytes);
    return (await over).bytes.toString("latin1");
  }

  const random = createSeededRandom("garbage");
  const refused: [name: string, bytes: string | Buffer, status: RegExp][] = [
    [
      "a TLS greeting where a proxy was expected",
      Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
      /^HTTP\/1\.1 400 /,
    ],
    [
      "bytes that are nothing at all",
      Buffer.from(random.text(400, "\u0000\u0001\u0002\u00ff"), "latin1"),
      /^HTTP\/1\.1 400 /,
    ],
    ["another protocol's greeting", "SSH-2.0-OpenSSH_9.6\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["HTTP/2 without being asked", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["a request for the proxy itself", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["a CONNECT to nowhere", "CONNECT / HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 /],
    [
      "a CONNECT with a port beyond all ports",
      "CONNECT api.openai.com:99999 HTTP/1.1\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a CONNECT with a body",
      "CONNECT api.openai.com:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a CONNECT to a host that is not there",
      "CONNECT no-such-host.invalid:443 HTTP/1.1\r\n\r\n",
      /^HTTP\/1\.1 502 /,
    ],
    [
      "two framings",
      "POST http://x.invalid/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a head without an end",
      `GET http://x.invalid/ HTTP/1.1\r\nX: ${"y".repeat(300_000)}`,
      /^HTTP\/1\.1 431 /,
    ],
    [
      "a web page's request to the gateway",
      "GET /anthropic/ HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.test\r\n\r\n",
      /^HTTP\/1\.1 403 /,
    ],
  ];
  for (const [name, bytes, status] of refused) {
    it(`gets a clear response and is closed: ${name}`, async () => {
      assert.match(await send(bytes), status);
    });
  }

  it("reaches none of the daemon's own ports", async () => {
    for (const port of [rig.meter.apiPort, rig.meter.proxyPort]) {
      for (const host of ["127.0.0.1", "localhost", "[::1]", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"]) {
        const said = await send(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
        assert.match(said, /^HTTP\/1\.1 (403|400|502) /, host);
      }
    }
  });

  const halves = [
    "",
    "C",
    "CONNECT api.openai.com:443 HTTP/1.1",
    "CONNECT api.openai.com:443 HTTP/1.1\r\nHost: a\r\n",
    "POST http",
  ];
  for (const half of halves) {
    it(`is closed if the client disconnects after ${JSON.stringify(half)}`, async () => {
      await send(half, true);
    });
  }

  it("is closed if the client disconnects right after the tunnel opens, gracefully or abruptly", async () => {
    for (const end of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      const { socket, head } = await askForTunnel(rig.meter.proxyPort, "api.openai.com:443");
      assert.match(head, /^HTTP\/1\.1 200 /);
      const { over } = receive(socket);
      end(socket);
      await over;
    }
  });

  it("is tunnelled unread if the SNI is not the requested host", async () => {
    const { socket } = await askForTunnel(rig.meter.proxyPort, "api.openai.com:443");
    const tls = connectTls({
      socket,
      servername: "api.anthropic.com",
      ca: [rig.simulation.caPem, rig.meter.caPem],
    });
    tls.on("error", () => {});
    await once(tls, "secureConnect");
    assert.match(String(tls.getPeerCertificate().issuer.CN), /Simulated providers root/);
    tls.destroy();
    await waitFor("the count", async () => (await rig.meter.counted("tunnelled_sni_mismatch")) > 0);
  });

  it("is relayed unchanged inside the tunnel", async () => {
    const socket = await dialProvider(rig.meter, "api.openai.com");
    const { over } = receive(socket);
    socket.end(Buffer.from(`${random.text(3_000, "\u0000\r\n GET/:1")}\r\n\r\n`, "latin1"));
    const { bytes } = await over;
    assert.match(bytes.toString("latin1"), /^HTTP\/1\.1 400 /, "the provider's own answer");
  });

  const nonsense: [name: string, bytes: string | Buffer][] = [
    ["nothing at all", ""],
    ["bytes that are no HTTP", Buffer.from(random.text(2_000, "\u0000\u00ff\r\nab"), "latin1")],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["a status that is none", "HTTP/1.1 abc OK\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"],
    ["a chunk size that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
    ["an endless header", `HTTP/1.1 200 OK\r\nX: ${"y".repeat(500_000)}`],
    ["gzip that is none", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"],
    [
      "JSON without an end",
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n${'{"usage":['.repeat(20_000)}`,
    ],
    [
      "usage that can't be",
      'HTTP/1.1 200 OK\r\nContent-Length: 71\r\n\r\n{"usage":{"prompt_tokens":-1,"completion_tokens":1e400,"total_tokens":"x"}}',
    ],
    [
      "a stream of nonsense",
      `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${"data: {]\n\n".repeat(2_000)}`,
    ],
  ];
  for (const [name, bytes] of nonsense) {
    it(`is relayed from a provider, and recorded as far as possible: ${name}`, async () => {
      const before = (await rig.meter.rows()).length;
      answer = (socket) => socket.once("data", () => socket.end(bytes));
      const port = roguePort();
      const body = '{"model":"m","messages":[]}';
      const head = `POST http://127.0.0.1:${port}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
      const said = await send(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      assert.equal(said, bytes.toString("latin1"));
      const rows = await rig.meter.waitForRows(before + 1);
      const row = rows.at(-1)!;
      assert.deepEqual(
        [row.provider, row.requestedModel, row.tokensComplete, row.costPicoUsd],
        ["rogue", "m", false, null],
      );
    });
  }

  it("appears in no log and crashes nothing", async () => {
    const said = rig.meter.log();
    assert.deepEqual(
      said.filter(({ event }) => /crashed|capture\.failed|restarted/.test(event)),
      [],
    );
    assert.equal((await rig.meter.status()).proxy.restarts, 0);
    assert.ok(!JSON.stringify(said).includes("yyyy"));
  });
});
