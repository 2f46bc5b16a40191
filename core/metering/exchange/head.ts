import { COLON, CR, DEL, decodeLatin1, HTAB, LF, SPACE } from "./bytes.ts";
import { isUnreadable, type Unreadable, type UnreadableReason } from "./unreadable.ts";

/** Header lines in their original order and case, including repeated names. Values are ISO 8859-1, trimmed. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** The head of a request. The target is unchanged: origin, absolute, authority or asterisk form. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** `HTTP/1.1` or `HTTP/1.0`. */
  readonly version: string;
  readonly headers: HeaderList;
}

/** The head of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** `HTTP/1.1` or `HTTP/1.0`. */
  readonly version: string;
  readonly headers: HeaderList;
}

/** Returns the first value of a header, or null. Values of repeated lines are not joined. */
export function headerValue(headers: HeaderList, lowerCaseName: string): string | null {
  for (const header of headers) {
    const name = header[0]; // no destructuring: this runs several times per head
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) return header[1];
  }
  return null;
}

/** The scheme and host of an absolute target. */
const ORIGIN = /^https?:\/\/[^/?]*/i;

/** Returns a target's path without its query. Servers also accept a target in absolute form: `https://host/path`. */
export function pathOf(target: string): string {
  const [path] = (target.startsWith("/") ? target : target.replace(ORIGIN, "")).split("?", 1);
  return path || "/";
}

/**
 * Returns the index after the empty line that ends the head starting at `start`, or -1. An empty line made of bare line
 * feeds also counts, so that the strict reader rejects it at once instead of waiting for more. `from` is the last byte seen
 * by an earlier search. An end spans at least two bytes, so only every second byte is checked.
 */
export function findHeadEnd(bytes: Uint8Array, start: number, from: number): number {
  for (let at = from; at < bytes.length; at += 2) {
    while (at < bytes.length && bytes[at]! > CR) at += 2;
    const afterLine = at > start && bytes[at - 1] === LF;
    const next = bytes[at + 1];
    if (bytes[at] === LF) {
      if (afterLine) return at + 1;
      if (next === LF) return at + 2;
      if (next === CR && bytes[at + 2] === LF) return at + 3;
    } else if (afterLine && bytes[at] === CR && next === LF) return at + 2;
  }
  return -1;
}

/** Which header lines a reader keeps: their names in lower case, and the bit of the length of each. All lines are checked. */
export interface HeaderFilter {
  readonly names: readonly string[];
  readonly lengths: number;
}

/** Returns the filter of these names: lower case, of letters and hyphens, at most 31 characters. */
export const keepHeaders = (...names: readonly string[]): HeaderFilter => ({
  names,
  lengths: names.reduce((bits, { length }) => bits | (1 << length), 0),
});

/** Parses a complete request head including its empty line. Anything outside the grammar of RFC 9112 is unreadable. */
export function readRequestHead(
  raw: Uint8Array,
  keeps: HeaderFilter | null = null,
): RequestHead | Unreadable {
  const methodEnd = endOfToken(raw, 0);
  if (methodEnd === 0 || raw[methodEnd] !== SPACE) return refuse(raw, methodEnd, "bad_request_line");
  const targetStart = methodEnd + 1;
  const targetEnd = endOfTarget(raw, targetStart);
  if (targetEnd === targetStart || raw[targetEnd] !== SPACE)
    return refuse(raw, targetEnd, "bad_request_line");
  const lineEnd = endOfText(raw, targetEnd + 1);
  if (!isLineEnd(raw, lineEnd)) return refuse(raw, lineEnd, "bad_request_line");
  const text = decodeLatin1(raw);
  const version = text.slice(targetEnd + 1, lineEnd);
  if (!isKnownVersion(version)) return { unreadable: "bad_http_version" };
  const headers = readHeaderLines(raw, text, lineEnd + 2, keeps);
  if (isUnreadable(headers)) return headers;
  return { method: text.slice(0, methodEnd), target: text.slice(targetStart, targetEnd), version, headers };
}

/** Parses a complete response head including its empty line. A missing reason phrase is allowed, as in other clients. */
export function readResponseHead(
  raw: Uint8Array,
  keeps: HeaderFilter | null = null,
): ResponseHead | Unreadable {
  const lineEnd = endOfText(raw, 0);
  if (!isLineEnd(raw, lineEnd)) return refuse(raw, lineEnd, "bad_status_line");
  const text = decodeLatin1(raw);
  const status = statusOf(raw, lineEnd);
  const version = text.slice(0, STATUS_AT - 1);
  if (status === null || !isKnownVersion(version))
    return {
      unreadable: status === null || !/^HTTP\/\d\.\d$/.test(version) ? "bad_status_line" : "bad_http_version",
    };
  const headers = readHeaderLines(raw, text, lineEnd + 2, keeps);
  if (isUnreadable(headers)) return headers;
  return { status, reason: text.slice(Math.min(REASON_AT, lineEnd), lineEnd), version, headers };
}

/** The offsets of the status and the reason in a status line: after `HTTP/1.1 ` and `200 `. */
const STATUS_AT = 9;
const REASON_AT = 13;

/** Reads ` 200 ` or, at the end of the line, ` 200`. */
function statusOf(raw: Uint8Array, lineEnd: number): number | null {
  const isOpen = lineEnd === REASON_AT - 1 || (lineEnd > REASON_AT - 1 && raw[REASON_AT - 1] === SPACE);
  if (!isOpen || raw[STATUS_AT - 1] !== SPACE) return null;
  const [first, second, third] = [raw[9]! - 0x30, raw[10]! - 0x30, raw[11]! - 0x30];
  const areDigits = first >= 1 && first <= 9 && second >= 0 && second <= 9 && third >= 0 && third <= 9;
  return areDigits ? 100 * first + 10 * second + third : null;
}

function readHeaderLines(
  raw: Uint8Array,
  text: string,
  from: number,
  keeps: HeaderFilter | null,
): HeaderList | Unreadable {
  const headers: (readonly [string, string])[] = [];
  let at = from;
  while (!isLineEnd(raw, at)) {
    const nameEnd = endOfToken(raw, at);
    if (nameEnd === at && isBlank(raw[at]!)) return { unreadable: "folded_header" };
    if (nameEnd === at || raw[nameEnd] !== COLON) return refuse(raw, nameEnd, "bad_header_name");
    const lineEnd = endOfText(raw, nameEnd + 1);
    if (!isLineEnd(raw, lineEnd)) return refuse(raw, lineEnd, "bad_header_name");
    if (keeps === null || isKept(raw, at, nameEnd, keeps)) {
      let valueStart = nameEnd + 1;
      let valueEnd = lineEnd;
      while (valueStart < valueEnd && isBlank(raw[valueStart]!)) valueStart++;
      while (valueEnd > valueStart && isBlank(raw[valueEnd - 1]!)) valueEnd--;
      headers.push([text.slice(at, nameEnd), text.slice(valueStart, valueEnd)]);
    }
    at = lineEnd + 2;
  }
  return headers;
}

/** Whether the filter has the name in these bytes. They are a token, in which the case bit is the only difference of a letter. */
function isKept(raw: Uint8Array, from: number, to: number, { names, lengths }: HeaderFilter): boolean {
  const length = to - from;
  if (length > 31 || ((lengths >>> length) & 1) === 0) return false;
  for (const name of names) {
    if (name.length !== length) continue;
    let at = 0;
    while (at < length && (raw[from + at]! | 0x20) === name.charCodeAt(at)) at++;
    if (at === length) return true;
  }
  return false;
}

/** Returns why the head is unreadable at `at`: a byte that is invalid anywhere in a line, or else `place`. */
function refuse(raw: Uint8Array, at: number, place: UnreadableReason): Unreadable {
  if (raw[at] === LF) return { unreadable: "bare_lf_in_head" };
  if (raw[at] === CR && raw[at + 1] !== LF) return { unreadable: "bare_cr_in_head" };
  return { unreadable: raw[at] === CR || isText(raw[at]!) ? place : "control_byte_in_head" };
}

/** Whether this reader supports the version. `HTTP/2.0` appears in the preface of HTTP/2. */
function isKnownVersion(version: string): boolean {
  return version === "HTTP/1.1" || version === "HTTP/1.0";
}

/** The characters of a token (RFC 9110 section 5.6.2) as a bit set of 256 bits in signed 32-bit words. */
const TOKEN_BITS = [0, 0x03ff6cfa, 0xc7fffffe | 0, 0x57ffffff, 0, 0, 0, 0];

function endOfToken(raw: Uint8Array, from: number): number {
  let at = from;
  while (at < raw.length && (TOKEN_BITS[raw[at]! >> 5]! >>> (raw[at]! & 31)) & 1) at++;
  return at;
}

function endOfTarget(raw: Uint8Array, from: number): number {
  let at = from;
  while (at < raw.length && raw[at]! > SPACE && raw[at] !== DEL) at++;
  return at;
}

function endOfText(raw: Uint8Array, from: number): number {
  let at = from;
  while (at < raw.length && isText(raw[at]!)) at++;
  return at;
}

/** Whether a header value may contain the byte: visible characters, blanks and non-ASCII bytes (RFC 9110 section 5.5). */
function isText(byte: number): boolean {
  return (byte >= SPACE && byte !== DEL) || byte === HTAB;
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === HTAB;
}

function isLineEnd(raw: Uint8Array, at: number): boolean {
  return raw[at] === CR && raw[at + 1] === LF;
}
