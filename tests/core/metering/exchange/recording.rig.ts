import * as fc from "fast-check";
import {
  createExchangeReader,
  type Direction,
  type ExchangeSink,
} from "../../../../core/metering/exchange/exchange-reader.ts";

const encoder = new TextEncoder();

/** Text as bytes, one for each character: what a test writes is what stands on the wire. */
export function latin1Bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Bytes as text, one character for each. */
export function latin1Text(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** Cuts bytes at the given places (any numbers: they are taken modulo the length). Pieces may be empty. */
export function splitAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.slice(index === 0 ? 0 : ends[index - 1], end));
}

export function singleBytes(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (byte) => Uint8Array.of(byte));
}

export const splitPlaces: fc.Arbitrary<number[]> = fc.array(fc.nat(4000), { maxLength: 12 });

/** Collects reports as lines; neighbouring pieces of the same bytes become one, as cuts must not show. */
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

/** One thing that passed on a connection: bytes, or the end of a direction. */
export type ConversationStep =
  | readonly [direction: Direction, bytes: string]
  | readonly [direction: Direction];

/** What an exchange reader reports of a conversation, pushed through `cut`; times are the places in the conversation. */
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
