import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { decodeUtf8 } from "../../../../core/metering/exchange/bytes.ts";
import { createSseReader } from "../../../../core/metering/exchange/sse-reader.ts";
import { singleBytes, splitAt, splitPlaces, utf8Bytes } from "./recording.rig.ts";

type Seen = readonly [event: string | null, data: string];

function read(pieces: readonly Uint8Array[], maxEventBytes?: number): { events: Seen[]; dropped: number } {
  const events: Seen[] = [];
  const reader = createSseReader(
    ({ event, data }) => events.push([event, decodeUtf8(data)]),
    maxEventBytes === undefined ? {} : { maxEventBytes },
  );
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return { events, dropped: reader.dropped };
}

/** The standard's algorithm, written as directly as possible, without limits. */
function readBySpecification(text: string): Seen[] {
  const events: Seen[] = [];
  let data = "";
  let name = "";
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      if (data !== "") events.push([name === "" ? null : name, data.slice(0, -1)]);
      data = name = "";
      continue;
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/su.exec(line)!;
    if (field === "data") data += `${value ?? ""}\n`;
    else if (field === "event") name = value ?? "";
  }
  return events;
}

describe("createSseReader()", () => {
  const rows: readonly (readonly [what: string, stream: string, events: readonly Seen[]])[] = [
    ["LF", "event: a\ndata: b\n\n", [["a", "b"]]],
    ["CRLF", "event: a\r\ndata: b\r\n\r\n", [["a", "b"]]],
    ["CR", "event: a\rdata: b\r\r", [["a", "b"]]],
    [
      "a mixture of line ends",
      "data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\n\n",
      [..."abcd"].map((data): Seen => [null, data]),
    ],
    ["several data lines", "data: a\ndata:b\ndata\ndata:  c\n\n", [[null, "a\nb\n\n c"]]],
    [
      "data that is empty",
      "data:\n\ndata\ndata\n\ndata:test\n\n",
      [
        [null, ""],
        [null, "\n"],
        [null, "test"],
      ],
    ],
    ["a name without data, which is no event and is forgotten", "event: a\n\ndata: b\n\n", [[null, "b"]]],
    ["the last name of an event", "event: a\nevent: b\ndata: c\nevent: d\n\n", [["d", "c"]]],
    ["an empty name", "event: a\nevent:\ndata: b\n\n", [[null, "b"]]],
    [
      "comments and fields nobody knows",
      ": hi\nretry: 5\nid: 1\nid: \0\nfoo: bar\ndatax: y\ndat\n:\ndata: a\n\n",
      [[null, "a"]],
    ],
    ["names of fields in their exact case", "Data: a\nEVENT: b\ndata : c\n\n", []],
    ["a byte order mark at the start", "\ufeffdata: a\n\n", [[null, "a"]]],
    ["no byte order mark elsewhere", "data: a\n\n\ufeffdata: b\n\n", [[null, "a"]]],
    [
      "text beyond ASCII",
      "event: größe\ndata: ‰😀\n\nevent: größe\ndata: é\n\n",
      [
        ["größe", "‰😀"],
        ["größe", "é"],
      ],
    ],
    ["an event that no empty line ends", "data: a\n\ndata: b\n", [[null, "a"]]],
    ["a line that no line end ends", "data: a\n\ndata: b", [[null, "a"]]],
    ["nothing", "", []],
  ];
  for (const [what, stream, events] of rows) {
    it(`reads ${what}`, () => {
      assert.deepEqual(read([utf8Bytes(stream)]), { events, dropped: 0 });
      assert.deepEqual(read(singleBytes(utf8Bytes(stream))), { events, dropped: 0 });
      assert.deepEqual(readBySpecification(stream), events);
    });
  }

  const streams = fc
    .array(
      fc.constantFrom(
        ...["data", "event", "id", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "a", "é", "\0"],
        ...[
          "data: x\n",
          "data:",
          "event: e\n",
          "id: 7\r\n",
          "data: {}\n\n",
          "\ufeff",
          "data:xx\ndata:xx\ndata:xx\ndata:xx\n\n",
        ],
      ),
      { maxLength: 40, size: "max" },
    )
    .map((parts) => parts.join(""));

  it("reads the same events as the standard's algorithm, however the bytes are split", () => {
    // Planted: a CR at the end of one push and an LF at the start of the next counted as two line ends.
    fc.assert(
      fc.property(streams, splitPlaces, (stream, places) => {
        const expected = { events: readBySpecification(stream), dropped: 0 };
        const bytes = utf8Bytes(stream);
        assert.deepEqual(read([bytes]), expected);
        assert.deepEqual(read(splitAt(bytes, places)), expected);
        assert.deepEqual(read(singleBytes(bytes)), expected);
      }),
      { numRuns: 1000 },
    );
  });

  it("drops the same events as too large, however the bytes are split", () => {
    // Planted: the LF between two data lines was not counted; a cut line was kept to its limit, not one byte more.
    fc.assert(
      fc.property(streams, splitPlaces, fc.integer({ min: 6, max: 14 }), (stream, places, maxEventBytes) => {
        const bytes = utf8Bytes(stream);
        const whole = read([bytes], maxEventBytes);
        assert.deepEqual(read(splitAt(bytes, places), maxEventBytes), whole);
        assert.deepEqual(read(singleBytes(bytes), maxEventBytes), whole);
        createSseReader(({ data }) => assert.ok(data.length <= maxEventBytes), { maxEventBytes }).push(bytes);
      }),
      { numRuns: 500 },
    );
  });

  it("drops and counts an event with too long a line, data or name, and continues", () => {
    for (const large of [
      "data: 0123456789abcdef\n\n",
      "data: 01234567\ndata: 89abcde\n\n",
      "event: 0123456789abcdef\ndata: x\n\n",
      "data: 0123456789abcdef\ndata: x\ndata: y\n\n",
      "data: 0123456789abcdef\n", // cut short as well
    ]) {
      const { events, dropped } = read([utf8Bytes("data: a\n\n"), utf8Bytes(large)], 15);
      assert.deepEqual([events, dropped], [[[null, "a"]], 1], large);
    }
    assert.deepEqual(read([utf8Bytes("data: 0123456789abcdef\n\ndata: b\n\n")], 15).events, [[null, "b"]]);
    assert.deepEqual(read([utf8Bytes(`: ${"long comment ".repeat(9)}\ndata: b\n\n`)], 15), {
      events: [[null, "b"]],
      dropped: 0,
    });
  });

  it("cuts a long name", () => {
    const { events } = read([utf8Bytes(`event: ${"x".repeat(1_000)}\ndata: a\n\n`)]);
    assert.deepEqual(events, [["x".repeat(256), "a"]]);
  });

  it("skips an event of 100 MB in bounded memory", () => {
    const { events, dropped } = read(
      (function* () {
        yield utf8Bytes("data: ");
        const piece = new Uint8Array(1_000_000).fill(0x61);
        for (let count = 0; count < 100; count++) yield piece;
        yield utf8Bytes("\n\ndata: after\n\n");
      })() as unknown as Uint8Array[],
    );
    assert.deepEqual([events, dropped], [[[null, "after"]], 1]);
  });

  it("neither copies nor decodes an event within one push", () => {
    const bytes = utf8Bytes("event: delta\ndata: {}\n\n");
    let data: Uint8Array | undefined;
    createSseReader((event) => {
      data = event.data;
    }).push(bytes);
    assert.equal(data?.buffer, bytes.buffer);
  });
});
