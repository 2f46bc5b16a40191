import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import type { SimulatedCall } from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { expectedRow, inOrder, toComparable } from "./expected-rows.rig.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor, withoutResets } from "./meter-process.rig.ts";
import {
  askForTunnel,
  dialProvider,
  dialTcp,
  rawCalls,
  receive,
  writeInPieces,
  writeRequest,
} from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

/** Each form in which the simulation can send a body. */
const forms = [
  ...["ok", "length", "chunked", "until-close", "drip", "shredded", "chunked+shredded", "hints", "trailers"],
  ...["gzip", "br", "zstd", "deflate", "gzip+chunked", "br+shredded", "deflate+drip+chunked"],
  ...["gzip+until-close", "zstd+chunked+trailers+hints+shredded", "br+length+shredded+hints"],
];

/** Failures and unusual cases that must still arrive unchanged. */
const outcomes = [
  ...["unauthorised", "rate-limit", "quota", "overloaded", "server-error", "bad-request", "not-found"],
  ...[
    "nonsense",
    "error-in-stream",
    "incomplete",
    "no-usage",
    "thinking+cached+tools",
    "events-300+shredded",
  ],
  ...["cut", "cut+chunked", "early-fin", "early-fin+length", "early-fin+until-close"],
];

// Each case derives the form and the pieces of its requests from its own name, so that a failure repeats.
describe("bytes through the whole daemon", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("transparency");
  let rowsSeen = 0;

  /** Returns the rows since the last call, as many as the provider's list has new entries. */
  async function newRows(ledgerFrom: number) {
    await rig.simulation.idle();
    const entries = rig.simulation.calls.slice(ledgerFrom);
    const all = await rig.meter.waitForRows(rowsSeen + entries.length);
    const rows = all.slice(rowsSeen);
    rowsSeen = all.length;
    return { entries, rows };
  }

  async function assertRows(ledgerFrom: number): Promise<SimulatedCall[]> {
    const { entries, rows } = await newRows(ledgerFrom);
    assert.deepEqual(inOrder(rows.map(toComparable)), inOrder(entries.map(expectedRow)));
    return entries;
  }

  /** Sends requests one after another, the last with `Connection: close`, and compares all bytes of both directions. */
  async function assertSameBytes(
    name: string,
    scenarios: readonly [api: string, scenario: string, stream: boolean][],
  ) {
    const random = createSeededRandom(`${name} requests`);
    const [connectionFrom, ledgerFrom] = [rig.simulation.connections.length, rig.simulation.calls.length];
    const calls = scenarios.map(([api, scenario, stream]) => rawCalls[api]!(scenario, stream));
    const sent = Buffer.concat(
      calls.map((call, index) => writeRequest(call, index === calls.length - 1, random)),
    );
    const socket = await dialProvider(rig.meter, calls[0]!.host);
    const { over } = receive(socket);
    await writeInPieces(socket, sent, random);
    const received = await over;
    const entries = await assertRows(ledgerFrom);
    assert.equal(entries.length, calls.length);
    assert.equal(rig.simulation.connections.length, connectionFrom + 1, "one connection for one connection");
    const connection = rig.simulation.connections[connectionFrom]!;
    assert.ok(Buffer.concat(connection.received).equals(sent), "the provider received what the client sent");
    assert.ok(
      Buffer.concat(connection.sent).equals(received.bytes),
      "the client received what the provider sent",
    );
    return { received, entries };
  }

  for (const form of forms) {
    for (const stream of [false, true]) {
      it(`relays ${stream ? "a stream" : "JSON"} unchanged: ${form}`, async () => {
        const name = `${form} ${stream}`;
        await assertSameBytes(name, [["anthropic", form, stream]]);
      });
    }
  }

  for (const api of Object.keys(rawCalls)) {
    it(`relays ${api} in random forms`, async () => {
      const random = createSeededRandom(`lots of ${api}`);
      const lasting = forms.filter((form) => !form.includes("until-close"));
      for (const stream of [true, false]) {
        const form = random.pick(lasting);
        await assertSameBytes(`${api} ${stream}`, [[api, `thinking+cached+${form}`, stream]]);
      }
    });
  }

  for (const outcome of outcomes) {
    for (const stream of [false, true]) {
      it(`relays ${stream ? "a stream" : "JSON"} with an unusual outcome: ${outcome}`, async () => {
        await assertSameBytes(`${outcome} ${stream}`, [["anthropic", outcome, stream]]);
      });
    }
  }

  it("relays pipelined requests", async () => {
    const random = createSeededRandom("pipeline");
    const lasting = forms.filter((form) => !form.includes("until-close"));
    const many = Array.from({ length: 12 }, (): [string, string, boolean] => [
      random.pick(["chat", "responses"]),
      `${random.pick(lasting)}+${random.pick(["ok", "thinking", "tools", "rate-limit", "quota", "server-error"])}`,
      random.pick([true, false]),
    ]);
    await assertSameBytes("pipeline", many);
  });

  it("relays many simultaneous connections", async () => {
    const random = createSeededRandom("crowd");
    const ledgerFrom = rig.simulation.calls.length;
    const bodies = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const call = rawCalls[random.pick(Object.keys(rawCalls))]!(
          `${random.pick(forms)}+ok`,
          index % 2 === 0,
        );
        const own = createSeededRandom(`crowd ${index}`);
        const sent = writeRequest(call, true, own);
        const socket = await dialProvider(rig.meter, call.host);
        const { over } = receive(socket);
        await writeInPieces(socket, sent, own);
        return { sent, received: (await over).bytes };
      }),
    );
    await assertRows(ledgerFrom);
    for (const { sent, received } of bodies) {
      const connection = rig.simulation.connections.find((each) => Buffer.concat(each.received).equals(sent));
      assert.ok(connection, "a provider received exactly this");
      assert.ok(Buffer.concat(connection.sent).equals(received));
    }
  });

  it("relays an upload of several megabytes", async () => {
    const ledgerFrom = rig.simulation.calls.length;
    const call = rawCalls.anthropic!(`${"long ".repeat(1_200_000)} scenario: ok`, false);
    const random = createSeededRandom("upload");
    const sent = writeRequest(call, true, random);
    assert.ok(sent.length > 5_000_000);
    const socket = await dialProvider(rig.meter, call.host);
    const { over } = receive(socket);
    await writeInPieces(socket, sent, random);
    const received = await over;
    const { entries, rows } = await newRows(ledgerFrom);
    // A request above the threshold is read as it passes and not kept, so its prompt has no hash.
    assert.deepEqual(rows.map(toComparable), [expectedRow(entries[0]!)]);
    assert.equal(rows[0]!.promptHash, null);
    const connection = rig.simulation.connections[entries[0]!.connection]!;
    assert.ok(Buffer.concat(connection.received).equals(sent));
    assert.ok(Buffer.concat(connection.sent).equals(received.bytes));
  });

  it("relays the rest of a response to a client that half-closes", async () => {
    const ledgerFrom = rig.simulation.calls.length;
    const random = createSeededRandom("half-closed");
    const call = rawCalls.chat!("drip+shredded", true);
    const socket = await dialProvider(rig.meter, call.host);
    const { over } = receive(socket);
    socket.end(writeRequest(call, false, random));
    const received = await over;
    const [entry] = await assertRows(ledgerFrom);
    assert.ok(Buffer.concat(rig.simulation.connections[entry!.connection]!.sent).equals(received.bytes));
  });

  it("relays a reset as a reset, and the bytes before it", { skip: withoutResets }, async () => {
    const ledgerFrom = rig.simulation.calls.length;
    const call = rawCalls.anthropic!("reset", true);
    const socket = await dialProvider(rig.meter, call.host);
    const { over } = receive(socket);
    socket.write(writeRequest(call, true, createSeededRandom("reset")));
    const { bytes, error } = await over;
    const { entries, rows } = await newRows(ledgerFrom);
    assert.equal(error, "ECONNRESET");
    // A reset may overtake bytes in the buffers of either hop, so only a prefix is promised.
    const sent = Buffer.concat(rig.simulation.connections[entries[0]!.connection]!.sent);
    assert.ok(sent.subarray(0, bytes.length).equals(bytes));
    assert.equal(rows[0]!.errorClass, "network");
    assert.equal(rows[0]!.retryable, true);
    assert.equal(rows[0]!.tokensComplete, false);
  });

  it("records the usage so far if the client disconnects, and closes the provider's side", async () => {
    const ledgerFrom = rig.simulation.calls.length;
    const call = rawCalls.anthropic!("drip+shredded+events-2000", true);
    const socket = await dialProvider(rig.meter, call.host);
    const { bytes, over } = receive(socket);
    socket.write(writeRequest(call, true, createSeededRandom("hang up")));
    await waitFor("the first event", () => bytes().includes("content_block_delta"));
    socket.abort();
    await over;
    const { entries, rows } = await newRows(ledgerFrom);
    const [entry, row] = [entries[0]!, rows[0]!];
    assert.equal(entry.delivery, "client_gone");
    assert.equal(row.httpStatus, 200);
    assert.equal(row.errorClass, "network");
    assert.equal(row.retryable, false);
    assert.equal(row.tokensComplete, false);
    assert.equal(row.tokens.promptTokens, entry.tokens.promptTokens);
    assert.equal(row.providerResponseId, entry.responseId);
  });

  it("records a call that the client aborted before any response", { skip: withoutResets }, async () => {
    const ledgerFrom = rig.simulation.calls.length;
    const call = rawCalls.anthropic!("silence", true);
    const socket = await dialProvider(rig.meter, call.host);
    const sent = writeRequest(call, true, createSeededRandom("silence"));
    socket.write(sent);
    await waitFor("the request to arrive", () =>
      rig.simulation.connections.some(({ received }) => Buffer.concat(received).equals(sent)),
    );
    socket.abort();
    const { rows } = await newRows(ledgerFrom);
    const [row] = rows;
    assert.deepEqual(
      [row!.httpStatus, row!.ttfbMs, row!.errorClass, row!.retryable, row!.model],
      [null, null, "network", false, "claude-sonnet-4-5"],
    );
  });

  it("relays the bytes after an upgrade in both directions", async () => {
    const socket = await dialProvider(rig.meter, "api.openai.com");
    const { bytes, over } = receive(socket);
    socket.write(
      "GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nHost: api.openai.com\r\nConnection: Upgrade\r\n" +
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    await waitFor("the upgrade", () => bytes().includes("\r\n\r\n"));
    assert.match(bytes().toString("latin1"), /^HTTP\/1\.1 101 /);
    const head = bytes().length;
    const random = createSeededRandom("frames");
    const frames = Buffer.from(random.text(5_000, '\u0000\u0001\u007f\r\n{}"ab'), "latin1");
    await writeInPieces(socket, frames, random);
    await waitFor("the echo", () => bytes().length >= head + frames.length);
    assert.ok(bytes().subarray(head).equals(frames));
    socket.destroy();
    await over;
  });

  for (const form of ["chunked+trailers+hints", "gzip+shredded", "until-close", "early-fin", "rate-limit"]) {
    it(`relays the provider's bytes to the gateway's client: ${form}`, async () => {
      const ledgerFrom = rig.simulation.calls.length;
      const call = rawCalls.anthropic!(form, true);
      const random = createSeededRandom(`gateway ${form}`);
      const own = `127.0.0.1:${rig.meter.proxyPort}`;
      const sent = writeRequest({ ...call, host: own, path: `/anthropic${call.path}` }, true, random);
      const socket = await dialTcp(rig.meter.proxyPort);
      const { over } = receive(socket);
      await writeInPieces(socket, sent, random);
      const received = await over;
      const [entry] = await assertRows(ledgerFrom);
      const connection = rig.simulation.connections[entry!.connection]!;
      assert.ok(Buffer.concat(connection.sent).equals(received.bytes));
      // The head states the target; everything after it is unchanged.
      const upstream = Buffer.concat(connection.received);
      const bodyOf = (bytes: Buffer) => bytes.subarray(bytes.indexOf("\r\n\r\n"));
      assert.ok(bodyOf(upstream).equals(bodyOf(sent)));
      assert.match(upstream.toString("latin1"), /^POST \/v1\/messages HTTP\/1\.1\r\n/);
    });
  }

  it("relays other hosts' bytes unread and stores nothing of them", async (t) => {
    const seen: Buffer[] = [];
    const server = createServer((socket) =>
      socket.on("data", (bytes) => seen.push(bytes)).end("not HTTP at all\n"),
    );
    t.after(() => server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const { socket, head } = await askForTunnel(rig.meter.proxyPort, `127.0.0.1:${port}`);
    assert.match(head, /^HTTP\/1\.1 200 /);
    const { over } = receive(socket);
    socket.end(Buffer.from([0, 255, 22, 3, 1]));
    assert.equal((await over).bytes.toString(), "not HTTP at all\n");
    await waitFor("the count", async () => (await rig.meter.counted("tunnelled_not_provider")) === 1);
    assert.equal((await rig.meter.rows()).length, rowsSeen);
  });

  it("lost no frames, failed on none, and read everything", async () => {
    for (const kind of ["lost", "dropped", "capture_failed"] as const) {
      assert.equal(await rig.meter.counted(kind), 0, kind);
    }
    // The bytes after the upgrade are not WebSocket frames.
    const unread = rig.meter
      .log()
      .filter(({ event, reason }) => event === "capture.unreadable" && reason !== "reserved_bit");
    assert.deepEqual(unread, []);
    assert.equal(await rig.meter.counted("metered"), rig.simulation.calls.length);
  });

  it("used connections that were kept ready, each for one client connection", async () => {
    assert.ok((await rig.meter.status()).proxy.counters.warm.used > 0);
  });
});
