import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  createWebSocketReader,
  type WebSocketReaderOptions,
} from "../../../../core/metering/exchange/websocket-reader.ts";
import { latin1Bytes, latin1Text, singleBytes, splitAt, splitPlaces } from "./recording.rig.ts";
import { type Frame, frameBytes, joined } from "./websocket-frames.rig.ts";

const MASK = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);

/** Returns the reader's reports on the pieces, one per line; times are the numbers of the pieces. */
function reportOf(pieces: readonly Uint8Array[], options: WebSocketReaderOptions) {
  const lines: string[] = [];
  const reader = createWebSocketReader(
    {
      message: ({ kind, bytes, startedAtMs }, atMs) =>
        lines.push(`${kind} ${latin1Text(bytes)} @${startedAtMs}-${atMs}`),
      closed: (code, atMs) => lines.push(`closed ${code} @${atMs}`),
      unreadable: (reason, atMs) => lines.push(`unreadable ${reason} @${atMs}`),
    },
    options,
  );
  pieces.forEach((piece, at) => {
    reader.push(piece, at);
  });
  return { lines, dropped: reader.dropped };
}

const text = (payload: string, more: Partial<Frame> = {}): Frame => ({
  opcode: 1,
  payload: latin1Bytes(payload),
  ...more,
});
const next = (payload: string, more: Partial<Frame> = {}): Frame => ({
  opcode: 0,
  payload: latin1Bytes(payload),
  ...more,
});

/** Increments every byte, which shows whether messages were inflated and in which order. */
const shift = (contextTakeover: boolean): NonNullable<WebSocketReaderOptions["deflate"]> => ({
  contextTakeover,
  inflater: {
    inflate(payload) {
      if (payload[0] === 0x21) return { kind: "damaged" };
      if (payload[0] === 0x3f) return { kind: "too_large" };
      return { kind: "inflated", bytes: payload.map((byte) => byte + 1) };
    },
  },
});

const CASES: readonly {
  what: string;
  frames: readonly Frame[];
  options?: Partial<WebSocketReaderOptions>;
  lines: readonly string[];
  dropped?: number;
}[] = [
  {
    what: "the examples of RFC 6455, section 5.7",
    frames: [text("Hello"), text("Hel", { final: false }), next("lo")],
    lines: ["text Hello @0-0", "text Hello @0-0"],
  },
  {
    what: "a masked client frame",
    frames: [text("Hello", { mask: MASK })],
    options: { sender: "client" },
    lines: ["text Hello @0-0"],
  },
  {
    what: "control frames between fragments",
    frames: [
      text("a", { final: false }),
      { opcode: 9, payload: latin1Bytes("ping") },
      next("b", { final: false }),
      { opcode: 10, payload: latin1Bytes("") },
      next("c"),
    ],
    lines: ["text abc @0-0"],
  },
  {
    what: "a close with a code, and nothing after it",
    frames: [{ opcode: 8, payload: Uint8Array.of(0x03, 0xe8, 0x6f, 0x6b) }, text("late")],
    lines: ["closed 1000 @0"],
  },
  {
    what: "a close without a code",
    frames: [{ opcode: 8, payload: latin1Bytes("") }],
    lines: ["closed null @0"],
  },
  {
    what: "lengths written longer than needed",
    frames: [text("a", { lengthBytes: 2 }), text("b", { lengthBytes: 8 })],
    lines: ["text a @0-0", "text b @0-0"],
  },
  {
    what: "a message above the ceiling, which is dropped and counted",
    frames: [text("123456789"), text("1234", { final: false }), next("56789"), text("12345678")],
    options: { maxMessageBytes: 8 },
    lines: ["text 12345678 @0-0"],
    dropped: 2,
  },
  {
    what: "a compressed message, a plain one between two",
    frames: [text("GDKKN", { compressed: true }), text("plain"), text("AX", { compressed: true })],
    options: { deflate: shift(true) },
    lines: ["text HELLO @0-0", "text plain @0-0", "text BY @0-0"],
  },
  {
    what: "a compressed message in fragments: only the first frame says so",
    frames: [text("GD", { compressed: true, final: false }), next("KKN")],
    options: { deflate: shift(false) },
    lines: ["text HELLO @0-0"],
  },
  {
    what: "a dropped message that later ones refer to",
    frames: [text("123456789", { compressed: true }), text("later", { compressed: true })],
    options: { maxMessageBytes: 8, deflate: shift(true) },
    lines: ["unreadable deflate_context_lost @0"],
    dropped: 1,
  },
  {
    what: "a dropped message that stands alone",
    frames: [text("123456789", { compressed: true }), text("AX", { compressed: true })],
    options: { maxMessageBytes: 8, deflate: shift(false) },
    lines: ["text BY @0-0"],
    dropped: 1,
  },
  {
    what: "what is no DEFLATE",
    frames: [text("!", { compressed: true }), text("late")],
    options: { deflate: shift(false) },
    lines: ["unreadable deflate_damaged @0"],
  },
  {
    what: "a bomb",
    frames: [text("?", { compressed: true }), text("late")],
    options: { deflate: shift(false) },
    lines: ["unreadable deflate_too_large @0"],
  },
  {
    what: "compression that nobody agreed on",
    frames: [text("x", { compressed: true })],
    lines: ["unreadable reserved_bit @0"],
  },
  {
    what: "a continuation that claims to be compressed",
    frames: [text("x", { final: false }), next("y", { compressed: true })],
    options: { deflate: shift(false) },
    lines: ["unreadable reserved_bit @0"],
  },
  {
    what: "a control frame that claims to be compressed",
    frames: [{ opcode: 9, payload: latin1Bytes("x"), compressed: true }],
    options: { deflate: shift(false) },
    lines: ["unreadable reserved_bit @0"],
  },
  {
    what: "a server that masks",
    frames: [text("x", { mask: MASK })],
    lines: ["unreadable bad_mask @0"],
  },
  {
    what: "a client that does not",
    frames: [text("x")],
    options: { sender: "client" },
    lines: ["unreadable bad_mask @0"],
  },
  {
    what: "an opcode that is none",
    frames: [{ opcode: 3, payload: latin1Bytes("") }],
    lines: ["unreadable unknown_opcode @0"],
  },
  {
    what: "a continuation of nothing",
    frames: [next("x")],
    lines: ["unreadable bad_fragment @0"],
  },
  {
    what: "a message within a message",
    frames: [text("x", { final: false }), text("y")],
    lines: ["unreadable bad_fragment @0"],
  },
  {
    what: "a control frame in fragments",
    frames: [{ opcode: 9, payload: latin1Bytes("x"), final: false }],
    lines: ["unreadable bad_control_frame @0"],
  },
  {
    what: "a control frame that is too long",
    frames: [{ opcode: 9, payload: latin1Bytes("x".repeat(126)) }],
    lines: ["unreadable bad_control_frame @0"],
  },
];

describe("createWebSocketReader()", () => {
  for (const { what, frames, options = {}, lines, dropped = 0 } of CASES) {
    it(`reads ${what}`, () => {
      const bytes = joined(frames.map(frameBytes));
      const whole = reportOf([bytes], { sender: "server", ...options });
      assert.deepEqual(whole, { lines, dropped });
      const untimed = (report: readonly string[]) => report.map((line) => line.replace(/ @.*$/, ""));
      const cut = reportOf(singleBytes(bytes), { sender: "server", ...options });
      assert.deepEqual(untimed(cut.lines), untimed(lines));
      assert.equal(cut.dropped, dropped);
    });
  }

  it("stops at a reserved bit that no supported extension uses", () => {
    for (const first of [0xa1, 0x91]) {
      const report = reportOf([Uint8Array.of(first, 1, 0x61)], { sender: "server", deflate: shift(false) });
      assert.deepEqual(report.lines, ["unreadable reserved_bit @0"]);
    }
  });

  it("stops at a length beyond 2^53", () => {
    const endless = Uint8Array.of(0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    assert.deepEqual(reportOf([endless], { sender: "server" }).lines, ["unreadable bad_frame_length @0"]);
  });

  it("skips a frame of many gigabytes without buffering it", () => {
    const head = Uint8Array.of(0x82, 127, 0, 0, 0, 16, 0, 0, 0, 0);
    const report = reportOf([head, new Uint8Array(1 << 20), new Uint8Array(1 << 20)], { sender: "server" });
    assert.deepEqual(report, { lines: [], dropped: 0 });
  });

  it("reports when a message started and ended", () => {
    const bytes = joined([frameBytes(text("ab", { final: false })), frameBytes(next("cd"))]);
    assert.deepEqual(reportOf(singleBytes(bytes), { sender: "server" }).lines, ["text abcd @0-7"]);
  });

  // Planted and found: the mask restarted at each piece; a ping between fragments ended the message; an empty fragment
  // reported as a message; the limit compared with the frame alone; the second length byte read twice.
  it("reports the same as a simple model, however the bytes are split", () => {
    const frame = fc.record({
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 6, max: 60 }),
        fc.integer({ min: 120, max: 130 }).map((length) => new Uint8Array(length).fill(97)),
      ),
      lengthBytes: fc.constantFrom<(Frame["lengthBytes"] | undefined)[]>(undefined, 2, 8),
      control: fc.constantFrom(null, 9, 10),
      mask: fc.uint8Array({ minLength: 4, maxLength: 4 }),
    });
    const message = fc.record({
      opcode: fc.constantFrom(1, 2),
      compressed: fc.boolean(),
      frames: fc.array(frame, { minLength: 1, maxLength: 4 }),
    });
    const session = fc.record({
      sender: fc.constantFrom<WebSocketReaderOptions["sender"][]>("client", "server"),
      maxMessageBytes: fc.constantFrom(5, 128, 1000),
      contextTakeover: fc.boolean(),
      messages: fc.array(message, { maxLength: 6 }),
      closes: fc.boolean(),
    });
    fc.assert(
      fc.property(
        session,
        splitPlaces,
        ({ sender, maxMessageBytes, contextTakeover, messages, closes }, places) => {
          const wired: Uint8Array[] = [];
          const expected: string[] = [];
          let dropped = 0;
          let lost = false;
          for (const { opcode, compressed, frames } of messages) {
            const maskOf = (mask: Uint8Array) => (sender === "client" ? { mask } : {});
            frames.forEach(({ payload, lengthBytes, control, mask }, at) => {
              wired.push(
                frameBytes({
                  opcode: at === 0 ? opcode : 0,
                  payload,
                  final: at === frames.length - 1,
                  compressed: compressed && at === 0,
                  ...(lengthBytes !== undefined && { lengthBytes }),
                  ...maskOf(mask),
                }),
              );
              if (control !== null)
                wired.push(frameBytes({ opcode: control, payload: latin1Bytes("p"), ...maskOf(mask) }));
            });
            if (lost) continue;
            const whole = joined(frames.map(({ payload }) => payload));
            const kind = opcode === 1 ? "text" : "binary";
            if (whole.length > maxMessageBytes) {
              dropped++;
              lost = compressed && contextTakeover;
              if (lost) expected.push("unreadable deflate_context_lost");
            } else if (!compressed) expected.push(`${kind} ${latin1Text(whole)}`);
            else if (whole[0] === 0x21 || whole[0] === 0x3f) {
              lost = true;
              expected.push(`unreadable deflate_${whole[0] === 0x21 ? "damaged" : "too_large"}`);
            } else expected.push(`${kind} ${latin1Text(whole.map((byte) => byte + 1))}`);
          }
          if (closes) {
            wired.push(
              frameBytes({ opcode: 8, payload: latin1Bytes(""), ...(sender === "client" && { mask: MASK }) }),
            );
            if (!lost) expected.push("closed null");
          }
          const report = reportOf(splitAt(joined(wired), places), {
            sender,
            maxMessageBytes,
            deflate: shift(contextTakeover),
          });
          assert.deepEqual(
            report.lines.map((line) => line.replace(/ @.*$/s, "")),
            expected,
          );
          assert.equal(report.dropped, dropped);
        },
      ),
      { numRuns: 500 },
    );
  });
});
