import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { type ByteQuota, createByteStore } from "../../../../core/metering/exchange/byte-store.ts";
import { decodeUtf8 } from "../../../../core/metering/exchange/bytes.ts";
import { createEventStreamReader } from "../../../../core/metering/exchange/event-stream-reader.ts";
import { createJsonArrayReader } from "../../../../core/metering/exchange/json-array-reader.ts";
import { createNdjsonReader } from "../../../../core/metering/exchange/ndjson-reader.ts";
import { createSseReader } from "../../../../core/metering/exchange/sse-reader.ts";
import { createWebSocketReader } from "../../../../core/metering/exchange/websocket-reader.ts";
import { frameBytes, joined } from "./websocket-frames.rig.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A quota that fails the test if more is released than was taken. */
function createQuota(limitBytes: number): ByteQuota & { readonly takenBytes: number } {
  let takenBytes = 0;
  return {
    get takenBytes() {
      return takenBytes;
    },
    take(bytes) {
      if (takenBytes + bytes > limitBytes) return false;
      takenBytes += bytes;
      return true;
    },
    release(bytes) {
      takenBytes -= bytes;
      assert.ok(takenBytes >= 0);
    },
  };
}

interface AnyReader {
  push(bytes: Uint8Array): void;
  end(): void;
  readonly dropped: number;
}

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  (text) => encoder.encode(text),
);
const quoted = (item: string) => JSON.stringify(item);

/** Each reader, with functions that write an item and return it. */
const formats: Record<
  string,
  {
    write(items: readonly string[]): Uint8Array;
    open(quota: ByteQuota, report: (item: string) => void): AnyReader;
  }
> = {
  "SSE with an event on one line": {
    write: (items) => encoder.encode(items.map((item) => `data: ${item}\n\n`).join("")),
    open: (quota, report) => createSseReader(({ data }) => report(decodeUtf8(data)), { quota }),
  },
  "SSE with an event on many lines": {
    write: (items) =>
      encoder.encode(
        items.map((item) => `${item.replace(/.{1,90}/g, (piece) => `data: ${piece}\n`)}\n`).join(""),
      ),
    open: (quota, report) =>
      createSseReader(({ data }) => report(decodeUtf8(data).replaceAll("\n", "")), { quota }),
  },
  "JSON lines": {
    write: (items) => encoder.encode(items.map((item) => `${item}\n`).join("")),
    open: (quota, report) => createNdjsonReader((line) => report(decoder.decode(line)), { quota }),
  },
  "JSON lines without a last line end": {
    write: (items) => encoder.encode([...items, "z".repeat(10_000)].join("\n")),
    open: (quota, report) =>
      createNdjsonReader(
        (line) => {
          if (line[0] !== 0x7a) report(decoder.decode(line));
        },
        { quota },
      ),
  },
  "a JSON array": {
    write: (items) => encoder.encode(`[${items.map(quoted).join(",")}]`),
    open: (quota, report) =>
      createJsonArrayReader((json) => report(JSON.parse(decoder.decode(json))), { quota }),
  },
  "AWS event streams": {
    write: (items) => joined(items.map((item) => codec.encode({ headers: {}, body: encoder.encode(item) }))),
    open: (quota, report) =>
      createEventStreamReader(({ payload }) => report(decoder.decode(payload)), {
        maxMessageBytes: 100_000,
        quota,
      }),
  },
  WebSocket: {
    write: (items) => joined(items.map((item) => frameBytes({ opcode: 1, payload: encoder.encode(item) }))),
    open(quota, report) {
      const reader = createWebSocketReader(
        {
          message: ({ bytes }) => report(decoder.decode(bytes)),
          closed() {},
          unreadable: (reason) => assert.fail(reason),
        },
        { sender: "server", quota },
      );
      return {
        push: (bytes) => reader.push(bytes, 0),
        end() {},
        get dropped() {
          return reader.dropped;
        },
      };
    },
  },
};

const small = ["a".repeat(20), "b".repeat(30)] as const;
const items = [small[0], "x".repeat(10_000), small[1]];
/** Short names of items, for messages. */
const named = (each: readonly string[]) => each.map((item) => `${item[0]} × ${item.length}`);

function readAll(format: string, pushBytes: number, quotaBytes: number) {
  const { write, open } = formats[format] as (typeof formats)[string];
  const quota = createQuota(quotaBytes);
  const found: string[] = [];
  const reader = open(quota, (item) => found.push(item));
  const bytes = write(items);
  for (let at = 0; at < bytes.length; at += pushBytes) reader.push(bytes.slice(at, at + pushBytes));
  reader.end();
  return { found: named(found), dropped: reader.dropped, takenBytes: quota.takenBytes };
}

describe("a quota that several readers share", () => {
  for (const format of Object.keys(formats)) {
    const isOpenEnded = format.includes("without a last");
    for (const pushBytes of [97, 4_000, 6_000]) {
      it(`drops only the item of ${format} that it has no memory for, in pushes of ${pushBytes}`, () => {
        assert.deepEqual(readAll(format, pushBytes, 5_000), {
          found: named(small),
          dropped: isOpenEnded ? 2 : 1,
          takenBytes: 0,
        });
        assert.deepEqual(readAll(format, pushBytes, 40_000), {
          found: named(items),
          dropped: 0,
          takenBytes: 0,
        });
      });
    }

    if (isOpenEnded || format.includes("many lines")) continue;
    it(`is not needed for ${format} in one push`, () => {
      assert.deepEqual(readAll(format, 1_000_000, 0), { found: named(items), dropped: 0, takenBytes: 0 });
    });
  }

  it("ends an event stream if the length of the dropped message is unknown", () => {
    const found: string[] = [];
    const reader = createEventStreamReader(({ payload }) => found.push(decoder.decode(payload)), {
      maxMessageBytes: 100_000,
      quota: createQuota(5_000),
    });
    const bytes = formats["AWS event streams"]?.write(items) as Uint8Array;
    const prelude = small[0].length + 16 + 5; // five bytes of the second message
    reader.push(bytes.slice(0, prelude));
    reader.push(bytes.slice(prelude));
    reader.end();
    assert.deepEqual([found, reader.dropped], [[small[0]], 1]);
  });
});

describe("createByteStore()", () => {
  it("takes no memory of the quota for small buffers, and returns all that it took", () => {
    const quota = createQuota(1_000_000);
    const store = createByteStore(quota);
    assert.equal(store.append(new Uint8Array(4_096), 0, 4_096), true);
    assert.equal(quota.takenBytes, 0);
    assert.equal(store.append(new Uint8Array(10), 0, 10), true);
    assert.ok(quota.takenBytes >= 4_106);
    store.clear();
    assert.equal(quota.takenBytes, 0);
  });

  it("keeps what it has if the quota refuses more", () => {
    const store = createByteStore(createQuota(0));
    store.append(Uint8Array.of(1, 2), 0, 2);
    assert.equal(store.append(new Uint8Array(5_000), 0, 5_000), false);
    assert.deepEqual([...store.view()], [1, 2]);
  });

  it("grows by at most 1 MiB beyond what is needed", () => {
    const quota = createQuota(1e9);
    const store = createByteStore(quota);
    for (let pushed = 0; pushed < 8; pushed += 1) store.append(new Uint8Array(1_000_000), 0, 1_000_000);
    assert.ok(quota.takenBytes < 8_000_000 + 1_048_577, String(quota.takenBytes));
  });
});
