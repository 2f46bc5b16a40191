import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFrameScanner } from "../../../../core/metering/exchange/frame-scanner.ts";
import { singleBytes } from "./recording.rig.ts";
import { type Frame, frameBytes, joined } from "./websocket-frames.rig.ts";

const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;
const MASK = Uint8Array.of(1, 2, 3, 4);
const frame = (details: Partial<Frame> = {}) =>
  frameBytes({ opcode: TEXT, payload: new Uint8Array(3), ...details });

/** Returns where frames and messages end, as positions in all the bytes. */
function endsOf(pieces: readonly Uint8Array[]): { frames: number[]; messages: number[] } {
  const scanner = createFrameScanner();
  const ends = { frames: [] as number[], messages: [] as number[] };
  let before = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      at = scanner.scan(piece, at);
      if (scanner.isAtFrameEnd) ends.frames.push(before + at);
      if (scanner.isAtMessageEnd) ends.messages.push(before + at);
    }
    before += piece.length;
  }
  return ends;
}

/** Adds up the lengths of frames. */
function positions(frames: readonly Uint8Array[]): number[] {
  let total = 0;
  return frames.map(({ length }) => {
    total += length;
    return total;
  });
}

describe("createFrameScanner()", () => {
  const rows: readonly (readonly [
    title: string,
    frames: readonly Uint8Array[],
    messageEnds: readonly number[],
  ])[] = [
    ["frames of a server and of a client", [frame(), frame({ mask: MASK })], [0, 1]],
    ["frames without a payload", [frame({ payload: new Uint8Array(0) }), frame()], [0, 1]],
    [
      "a masked frame without a payload",
      [frame({ payload: new Uint8Array(0), mask: MASK }), frame({ mask: MASK })],
      [0, 1],
    ],
    ["lengths of two bytes", [frame({ payload: new Uint8Array(300), mask: MASK }), frame()], [0, 1]],
    ["lengths of eight bytes", [frame({ payload: new Uint8Array(70_000) }), frame()], [0, 1]],
    [
      "a message in three frames",
      [
        frame({ final: false }),
        frame({ opcode: CONTINUATION, final: false }),
        frame({ opcode: CONTINUATION }),
        frame(),
      ],
      [2, 3],
    ],
    [
      "control frames between messages and within one",
      [
        frame({ opcode: PING }),
        frame({ final: false }),
        frame({ opcode: PING }),
        frame({ opcode: CONTINUATION }),
      ],
      [0, 3],
    ],
  ];
  for (const [title, frames, messageEnds] of rows)
    it(`finds the ends of ${title}, however the bytes are split`, () => {
      const ends = positions(frames);
      const expected = { frames: ends, messages: messageEnds.map((index) => ends[index]) };
      const bytes = joined(frames);
      assert.deepEqual(endsOf([bytes]), expected);
      assert.deepEqual(endsOf(singleBytes(bytes)), expected);
    });

  it("is at an end before the first byte, and not within a head or a payload", () => {
    const scanner = createFrameScanner();
    const bytes = frame({ mask: MASK });
    const isAtEnd = [scanner.isAtFrameEnd];
    for (const byte of singleBytes(bytes)) {
      scanner.scan(byte, 0);
      isAtEnd.push(scanner.isAtFrameEnd);
    }
    assert.deepEqual(isAtEnd, [true, ...Array.from(bytes.slice(1), () => false), true]);
  });

  it("continues at the given offset", () => {
    const bytes = joined([frame(), frame()]);
    assert.equal(createFrameScanner().scan(bytes, frame().length), bytes.length);
  });
});
