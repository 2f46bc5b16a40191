import {
  type HeaderFilter,
  type HeaderList,
  headerValue,
  keepHeaders,
  type RequestHead,
  type ResponseHead,
} from "./head.ts";
import { isUnreadable, type Unreadable } from "./unreadable.ts";

/** How a body ends: after a number of bytes (0 for no body), after its last chunk, or when the connection closes. */
export type BodyFraming = number | "chunked" | "until_close";

/** What a response reader needs to know about the request of the next response. */
export interface PendingRequest {
  readonly method: string;
  /** See `requestsProtocolSwitch`. */
  readonly requestsProtocolSwitch: boolean;
}

/** Whether a request asks to switch the connection to another protocol, with CONNECT or `Upgrade`. */
export function requestsProtocolSwitch(head: RequestHead): boolean {
  return head.method === "CONNECT" || headerValue(head.headers, "upgrade") !== null;
}

/** Returns the framing of a request body (RFC 9112 section 6.3). */
export function requestFraming(head: RequestHead): BodyFraming | Unreadable {
  const declared = declaredFraming(head.headers, head.version);
  if (isUnreadable(declared)) return declared;
  if (head.method === "CONNECT" && declared !== null && declared !== 0) {
    return { unreadable: "body_where_none_may_be" };
  }
  return declared ?? 0;
}

/** Returns the framing of a final or interim response; `switched` if the bytes that follow are not HTTP/1.1. */
export function responseFraming(
  head: ResponseHead,
  request: PendingRequest,
): BodyFraming | "switched" | Unreadable {
  const declared = declaredFraming(head.headers, head.version);
  if (isUnreadable(declared)) return declared;
  const tunnels = request.method === "CONNECT" && head.status >= 200 && head.status < 300;
  if (head.status < 200 || head.status === 204 || tunnels) {
    // RFC 9110 requires recipients to ignore these fields, but some clients wait for the announced body.
    if (declared !== null && declared !== 0) return { unreadable: "body_where_none_may_be" };
    if (head.status === 101 && !request.requestsProtocolSwitch) return { unreadable: "switch_not_asked_for" };
    return head.status === 101 || tunnels ? "switched" : 0;
  }
  // For these responses, the fields describe the body that an unconditional GET would have had.
  if (head.status === 304 || request.method === "HEAD") return 0;
  return declared ?? "until_close";
}

/** Returns the framing declared by the headers; null without framing headers. */
function declaredFraming(headers: HeaderList, version: string): number | "chunked" | null | Unreadable {
  let length: string | null = null;
  let coding: string | null = null;
  for (const header of headers) {
    // Compare lengths first, so that almost no name is converted to a new string.
    const name = header[0];
    const value = header[1];
    if (name.length === CONTENT_LENGTH.length && name.toLowerCase() === CONTENT_LENGTH) {
      if (length !== null && length !== value) return { unreadable: "differing_content_lengths" };
      length = value;
    } else if (name.length === TRANSFER_ENCODING.length && name.toLowerCase() === TRANSFER_ENCODING) {
      coding = coding === null ? value : `${coding}, ${value}`;
    }
  }
  if (coding !== null) {
    if (length !== null) return { unreadable: "length_and_transfer_encoding" };
    if (version === "HTTP/1.0") return { unreadable: "transfer_encoding_in_http_1_0" };
    return coding.toLowerCase() === "chunked" ? "chunked" : { unreadable: "bad_transfer_encoding" };
  }
  if (length === null) return null;
  // At most 15 digits, so that the number is exact in a double.
  return /^\d{1,15}$/.test(length) ? Number(length) : { unreadable: "bad_content_length" };
}

const CONTENT_LENGTH = "content-length";
const TRANSFER_ENCODING = "transfer-encoding";

/** The headers that the relay of a request depends on: framing, expectation and upgrade. */
export const REQUEST_HEADERS: HeaderFilter = keepHeaders(
  CONTENT_LENGTH,
  TRANSFER_ENCODING,
  "expect",
  "upgrade",
);

/** The headers that the relay of a response depends on: framing, type and encoding of the body, and a WebSocket's compression. */
export const RESPONSE_HEADERS: HeaderFilter = keepHeaders(
  ...[CONTENT_LENGTH, TRANSFER_ENCODING],
  ...["content-type", "content-encoding", "sec-websocket-extensions"],
);
