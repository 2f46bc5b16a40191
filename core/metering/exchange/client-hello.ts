import { decodeLatin1 } from "./bytes.ts";

/** The result of reading the first bytes of a connection. `not_tls` includes a hello that no TLS server would accept. */
type ClientHelloResult =
  | { readonly kind: "incomplete" }
  | { readonly kind: "not_tls" }
  | {
      readonly kind: "client_hello";
      /** The host name of the server_name extension, in its original case. */
      readonly serverName: string | null;
      /** The protocols that the client offers, in order; empty without an ALPN extension. */
      readonly alpn: readonly string[];
    };

/** Maximum length of a hello, in bytes without record headers. Decision: eight times the size of post-quantum hellos. */
export const MAX_CLIENT_HELLO_BYTES = 16_384;

/** Maximum number of records of a hello. They are read again with each byte that arrives, so many tiny ones would take long. */
export const MAX_RECORDS = 512;

/**
 * Reads the ClientHello at the start of `bytes`, which contains everything that the client has sent so far. The hello may
 * span several TLS records (RFC 8446 sections 4.1.2 and 5.1). Returns `not_tls` at the first invalid byte.
 */
export function readClientHello(bytes: Uint8Array): ClientHelloResult {
  const message = new Uint8Array(Math.min(bytes.length, HEADER_BYTES + MAX_CLIENT_HELLO_BYTES));
  let filled = 0;
  let records = 0;
  for (let at = 0; at < bytes.length; ) {
    records += 1;
    if (records > MAX_RECORDS) return NOT_TLS;
    if (bytes[at] !== HANDSHAKE_RECORD || (bytes[at + 1] ?? TLS_MAJOR) !== TLS_MAJOR) return NOT_TLS;
    if (at + RECORD_HEADER_BYTES > bytes.length) return INCOMPLETE;
    const recordBytes = uint16(bytes, at + 3);
    if (recordBytes === 0 || recordBytes > MAX_RECORD_BYTES) return NOT_TLS;
    const fragmentFrom = at + RECORD_HEADER_BYTES;
    at = fragmentFrom + recordBytes;
    const fragment = bytes.subarray(fragmentFrom, Math.min(at, fragmentFrom + message.length - filled));
    message.set(fragment, filled);
    filled += fragment.length;

    if (filled > 0 && message[0] !== CLIENT_HELLO) return NOT_TLS;
    if (filled < HEADER_BYTES) continue;
    const bodyBytes = message[1]! * 0x10000 + uint16(message, 2);
    if (bodyBytes > MAX_CLIENT_HELLO_BYTES) return NOT_TLS;
    if (filled >= HEADER_BYTES + bodyBytes) {
      return readHelloBody(message.subarray(HEADER_BYTES, HEADER_BYTES + bodyBytes));
    }
  }
  return INCOMPLETE;
}

function readHelloBody(body: Uint8Array): ClientHelloResult {
  let at = VERSION_AND_RANDOM_BYTES;
  // Skip session id, cipher suites and compression methods.
  for (const lengthBytes of [1, 2, 1]) {
    const skipped = vectorAt(body, at, lengthBytes);
    if (skipped === null) return NOT_TLS;
    at += lengthBytes + skipped.length;
  }
  let serverName: string | null = null;
  let alpn: readonly string[] = [];
  if (at < body.length) {
    const extensions = vectorAt(body, at, 2);
    if (extensions === null || at + 2 + extensions.length !== body.length) return NOT_TLS;
    const seen = new Set<number>();
    for (let next = 0; next < extensions.length; ) {
      const data = vectorAt(extensions, next + 2, 2);
      if (data === null) return NOT_TLS;
      const type = uint16(extensions, next);
      next += 4 + data.length;
      if (seen.has(type)) return NOT_TLS; // RFC 8446 section 4.2: at most one of each type
      seen.add(type);
      if (type === SERVER_NAME) {
        serverName = readServerName(data);
        if (serverName === null) return NOT_TLS;
      } else if (type === ALPN) {
        const protocols = readAlpn(data);
        if (protocols === null) return NOT_TLS;
        alpn = protocols;
      }
    }
  }
  return { kind: "client_hello", serverName, alpn };
}

/** Reads the host name (RFC 6066 section 3). Host names are the only defined type, and a list has at most one of each type. */
function readServerName(data: Uint8Array): string | null {
  const list = vectorAt(data, 0, 2);
  if (list === null || list.length + 2 !== data.length || list[0] !== 0) return null;
  const name = vectorAt(list, 1, 2);
  if (name === null || name.length + 3 !== list.length) return null;
  const text = decodeLatin1(name);
  return /^[\x21-\x7e]+$/.test(text) ? text : null;
}

/** Reads the protocol list (RFC 7301 section 3.1). */
function readAlpn(data: Uint8Array): readonly string[] | null {
  const list = vectorAt(data, 0, 2);
  if (list === null || list.length + 2 !== data.length) return null;
  const protocols: string[] = [];
  for (let at = 0; at < list.length; ) {
    const name = vectorAt(list, at, 1);
    if (name === null || name.length === 0) return null;
    protocols.push(decodeLatin1(name));
    at += 1 + name.length;
  }
  return protocols;
}

/** Returns the vector whose length is at `at`, in one or two bytes; null if the bytes end before the vector does. */
function vectorAt(bytes: Uint8Array, at: number, lengthBytes: number): Uint8Array | null {
  const from = at + lengthBytes;
  if (from > bytes.length) return null;
  const to = from + (lengthBytes === 1 ? bytes[at]! : uint16(bytes, at));
  return to > bytes.length ? null : bytes.subarray(from, to);
}

function uint16(bytes: Uint8Array, at: number): number {
  return bytes[at]! * 0x100 + bytes[at + 1]!;
}

const INCOMPLETE: ClientHelloResult = { kind: "incomplete" };
const NOT_TLS: ClientHelloResult = { kind: "not_tls" };

const HANDSHAKE_RECORD = 22;
const TLS_MAJOR = 3;
const RECORD_HEADER_BYTES = 5;
const MAX_RECORD_BYTES = 16_384;
const CLIENT_HELLO = 1;
/** Bytes of the type and length of a handshake message. */
const HEADER_BYTES = 4;
const VERSION_AND_RANDOM_BYTES = 34;
const SERVER_NAME = 0;
const ALPN = 16;
