import * as fc from "fast-check";
import {
  createExchangeReader,
  type Direction,
  type ExchangeSink,
} from "../../../../core/metering/exchange/exchange-reader.ts";

const encoder = new TextEncoder();

/** Converts text to bytes, one per character: the test's text is sent unchanged. */
export function latin1Bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Converts bytes to text, one character each. */
export function latin1Text(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** Cuts bytes at the given places (any numbers, modulo the length). Pieces may be empty. */
export function splitAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.slice(index === 0 ? 0 : ends[index - 1], end));
}

export function singleBytes(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (byte) => Uint8Array.of(byte));
}

export const splitPlaces: fc.Arbitrary<number[]> = fc.array(fc.nat(4000), { maxLength: 12 });

/** Collects reports as lines. Adjacent pieces of the same bytes become one, because cuts must not matter. */
export function createReport(): {
  lines: string[];
  add(line: string): void;
  bytes(label: string, piece: Uint8Array): void;
} {
  const lines: string[] = [];
  return {
    lines,
    add: (line) => lines.push(line),
    bytes(label, piece) {
      const start = `${label} `;
      if (piece.length === 0) throw new Error(`An empty piece was reported: ${label}`);
      if (lines.at(-1)?.startsWith(start)) lines[lines.length - 1] += latin1Text(piece);
      else lines.push(start + latin1Text(piece));
    },
  };
}

/** An event on a connection: bytes, or the end of a direction. */
export type ConversationStep =
  | readonly [direction: Direction, bytes: string]
  | readonly [direction: Direction];

/** Returns an exchange reader's reports on a conversation that is pushed through `cut`; times are positions in it. */
export function reportOf(
  conversation: readonly ConversationStep[],
  cut: (bytes: Uint8Array) => Uint8Array[] = (bytes) => [bytes],
): string[] {
  const report = createReport();
  const sink: ExchangeSink = {
    requestHead: (id, head, at) => report.add(`${id} ${head.method} ${head.target} @${at}`),
    requestBody: (id, bytes) => report.bytes(`${id} sent`, bytes),
    requestEnd: (id, at) => report.add(`${id} requested @${at}`),
    informational: (id, head, at) => report.add(`${id} interim ${head.status} @${at}`),
    responseHead: (id, head, at) => report.add(`${id} ${head.status} ${head.reason} @${at}`),
    responseBody: (id, bytes) => report.bytes(`${id} got`, bytes),
    responseEnd: (id, complete, at) => report.add(`${id} ${complete ? "answered" : "cut short"} @${at}`),
    upgraded: (id, at) => report.add(`${id} upgraded @${at}`),
    upgradedBytes: (direction, bytes) => report.bytes(`opaque ${direction}`, bytes),
    unreadable: (reason, at) => report.add(`unreadable ${reason} @${at}`),
  };
  const reader = createExchangeReader(sink);
  conversation.forEach(([direction, text], at) => {
    if (text === undefined) reader.end(direction, at);
    else for (const piece of cut(latin1Bytes(text))) reader.push(direction, piece, at);
  });
  return report.lines;
}
