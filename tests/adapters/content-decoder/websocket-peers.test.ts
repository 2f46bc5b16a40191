import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { type PerMessageDeflateOptions, WebSocket, WebSocketServer } from "ws";
import { createZlibMessageInflater } from "../../../adapters/content-decoder/message-inflater.ts";
import { createExchangeReader } from "../../../core/metering/exchange/exchange-reader.ts";
import {
  readWebSocketExtensions,
  type WebSocketExtensions,
} from "../../../core/metering/exchange/websocket-extensions.ts";
import {
  createWebSocketReader,
  type WebSocketReader,
} from "../../../core/metering/exchange/websocket-reader.ts";

/** What was read of one conversation between two real peers. */
interface Reading {
  agreement: WebSocketExtensions | null;
  client: string[];
  server: string[];
}

/** Relays bytes between a client and the port, and reads a copy of them. */
async function startTap(port: number): Promise<{ port: number; reading: Reading; close(): void }> {
  const reading: Reading = { agreement: null, client: [], server: [] };
  const readers: Record<string, WebSocketReader> = {};
  const nothing = () => {};
  const exchange = createExchangeReader({
    requestHead: nothing,
    requestBody: nothing,
    requestEnd: nothing,
    informational: nothing,
    responseHead(_, head) {
      const agreement = readWebSocketExtensions(head.headers);
      reading.agreement = agreement;
      for (const [sender, direction] of [
        ["client", "request"],
        ["server", "response"],
      ] as const) {
        const contextTakeover =
          agreement.kind === "deflate" &&
          (sender === "client" ? agreement.clientContextTakeover : agreement.serverContextTakeover);
        const lines = reading[sender];
        readers[direction] = createWebSocketReader(
          {
            message: ({ kind, bytes }) => lines.push(`${kind} ${Buffer.from(bytes).toString("latin1")}`),
            closed: (code) => lines.push(`closed ${code}`),
            unreadable: (reason) => lines.push(`unreadable ${reason}`),
          },
          {
            sender,
            deflate:
              agreement.kind === "deflate"
                ? {
                    contextTakeover,
                    inflater: createZlibMessageInflater({ contextTakeover, maxBytes: 1 << 20 }),
                  }
                : null,
          },
        );
      }
    },
    responseBody: nothing,
    responseEnd: nothing,
    upgraded: nothing,
    upgradedBytes: (direction, bytes, atMs) => readers[direction]?.push(bytes, atMs),
    unreadable: (reason) => assert.fail(reason),
  });
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to, direction] of [
      [client, upstream, "request"],
      [upstream, client, "response"],
    ] as const) {
      from.setNoDelay();
      sockets.add(from);
      from.on("data", (bytes) => {
        exchange.push(direction, bytes, 0);
        to.write(bytes);
      });
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    reading,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Messages of many sizes that resemble each other, so that each compresses best after the previous one. */
const MESSAGES = [1, 100, 125, 126, 1000, 65_535, 65_536, 200_000, 3].map((length, at) =>
  `${at}`.padEnd(length, "abcdefghij klmno"),
);

const AGREEMENTS: readonly [what: string, deflate: false | PerMessageDeflateOptions, WebSocketExtensions][] =
  [
    ["no compression", false, { kind: "plain" }],
    [
      "context takeover both ways",
      { threshold: 0 },
      { kind: "deflate", clientContextTakeover: true, serverContextTakeover: true },
    ],
    [
      "no takeover by the server, small messages plain",
      { serverNoContextTakeover: true, threshold: 200 },
      { kind: "deflate", clientContextTakeover: true, serverContextTakeover: false },
    ],
    [
      "no takeover at all and a small window",
      { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0, serverMaxWindowBits: 9 },
      { kind: "deflate", clientContextTakeover: false, serverContextTakeover: false },
    ],
  ];

describe("a WebSocket between real peers, read in between", () => {
  for (const [what, perMessageDeflate, agreement] of AGREEMENTS) {
    it(`is read completely with ${what}`, async () => {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate });
      await once(server, "listening");
      server.on("connection", (peer) =>
        peer.on("message", (data, isBinary) => {
          if (isBinary) peer.close(1000, "enough");
          else peer.send(`got ${data}`);
        }),
      );
      const tap = await startTap((server.address() as AddressInfo).port);
      const client = new WebSocket(`ws://127.0.0.1:${tap.port}`, { perMessageDeflate });
      try {
        await once(client, "open");
        for (const message of MESSAGES) {
          // In three fragments with a ping between them, which the protocol allows.
          client.send(message.slice(0, 1), { fin: false });
          client.send(message.slice(1, 70), { fin: false });
          client.ping("?");
          client.send(message.slice(70), { fin: true });
          await once(client, "message");
        }
        client.send(Buffer.from("bye"));
        await once(client, "close");
        assert.deepEqual(tap.reading.agreement, agreement);
        assert.deepEqual(tap.reading.client, [
          ...MESSAGES.map((text) => `text ${text}`),
          "binary bye",
          "closed 1000",
        ]);
        assert.deepEqual(tap.reading.server, [...MESSAGES.map((text) => `text got ${text}`), "closed 1000"]);
      } finally {
        client.terminate();
        tap.close();
        server.close();
      }
    });
  }
});
