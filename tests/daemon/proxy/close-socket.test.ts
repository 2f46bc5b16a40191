import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import {
  closeSocket,
  registerTlsStream,
  resetAfterFlush,
  resetSocket,
} from "../../../daemon/proxy/close-socket.ts";
import { collect, createCleanup, dialLocal, listenTls, providerRoots } from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

let port: number;
const accepted: TLSSocket[] = [];
before(async () => {
  port = await listenTls(cleanup, (socket) => void accepted.push(socket));
});

async function openPair(): Promise<{ bottom: Socket; stream: TLSSocket; peer: ReturnType<typeof collect> }> {
  const bottom = await dialLocal(port);
  const stream = connectTls({ socket: bottom, servername: "localhost", ca: providerRoots });
  stream.on("error", () => {});
  registerTlsStream(bottom, stream);
  await once(stream, "secureConnect");
  while (accepted.length === 0) await new Promise(setImmediate);
  return { bottom, stream, peer: collect(accepted.pop() as TLSSocket) };
}

const bothClosed = ({ bottom, stream }: { bottom: Socket; stream: Socket }) =>
  Promise.all([once(bottom, "close"), once(stream, "close")]);

describe("closeSocket()", () => {
  for (const layer of ["bottom", "stream"] as const) {
    it(`closes both layers, called with the ${layer}`, async () => {
      const pair = await openPair();
      const closed = bothClosed(pair);
      closeSocket(pair[layer]);
      assert.equal(pair.stream.destroyed, true, "TLS goes first");
      await closed;
    });
  }

  it("emits its error on the stream", async () => {
    const { bottom, stream } = await openPair();
    const failed = once(stream, "error");
    closeSocket(bottom, new Error("stopped"));
    assert.match(String(await failed), /stopped/);
  });

  it("does not destroy a TLS stream whose TCP socket is closing", async () => {
    const pair = await openPair();
    const closed = bothClosed(pair);
    pair.bottom.destroy();
    closeSocket(pair.stream);
    assert.equal(pair.stream.destroyed, false, "destroyed now, it could crash the process");
    await closed;
  });
});

describe("resetSocket()", () => {
  for (const layer of ["bottom", "stream"] as const) {
    it(`resets TCP and lets TLS follow, called with the ${layer}`, async () => {
      const pair = await openPair();
      const closed = bothClosed(pair);
      pair.stream.write("on its way");
      resetSocket(pair[layer]);
      closeSocket(pair.stream);
      resetSocket(pair.stream);
      assert.deepEqual([pair.bottom.destroyed, pair.stream.destroyed], [true, false]);
      assert.equal(await pair.peer.end(), "error", "the peer sees a reset");
      await closed;
    });
  }

  it("closes a connection that is sending its FIN, which can't be reset", async () => {
    const pair = await openPair();
    const closed = bothClosed(pair);
    pair.stream.end();
    resetSocket(pair.stream);
    await closed;
  });
});

describe("resetAfterFlush()", () => {
  it("resets after the written bytes were sent", async () => {
    const pair = await openPair();
    const closed = bothClosed(pair);
    const bytes = Buffer.alloc(1_000_000, "x");
    pair.stream.write(bytes);
    resetAfterFlush(pair.stream);
    assert.equal(pair.bottom.destroyed, false);
    await closed;
    assert.equal(await pair.peer.end(), "error");
  });
});
