import type { HeaderList, RequestHead, ResponseHead } from "./head.ts";
import { headerValue } from "./head.ts";
import type { Unreadable } from "./unreadable.ts";
import { isUnreadable } from "./unreadable.ts";

/** How a body ends: after so many bytes (0 where there is none), after its last chunk, or with the connection. */
export type BodyFraming = number | "chunked" | "until_close";

/** What a response reader must know of the request that the next response answers. */
export interface PendingRequest {
  readonly method: string;
  /** See `asksToSwitch`. */
  readonly asksToSwitch: boolean;
}

/** Whether a request may turn the connection into something that is not HTTP/1.1: by CONNECT or by `Upgrade`. */
export function asksToSwitch(head: RequestHead): boolean {
  return head.method === "CONNECT" || headerValue(head.headers, "upgrade") !== null;
}

/** The framing of a request's body (RFC 9112 section 6.3). */
export function requestFraming(head: RequestHead): BodyFraming | Unreadable {
  const declared = declaredFraming(head.headers, head.version);
  if (isUnreadable(declared)) return declared;
  if (head.method === "CONNECT" && declared !== null && declared !== 0) {
    return { unreadable: "body_where_none_may_be" };
  }
  return declared ?? 0;
}

/** The framing of a final or interim response's body; `switched` where what follows is no longer HTTP/1.1. */
export function responseFraming(
  head: ResponseHead,
  request: PendingRequest,
): BodyFraming | "switched" | Unreadable {
  const declared = declaredFraming(head.headers, head.version);
  if (isUnreadable(declared)) return declared;
  const tunnels = request.method === "CONNECT" && head.status >= 200 && head.status < 300;
  if (head.status < 200 || head.status === 204 || tunnels) {
    // RFC 9110 has such fields ignored, yet clients exist that wait for the body which they announce.
    if (declared !== null && declared !== 0) return { unreadable: "body_where_none_may_be" };
    if (head.status === 101 && !request.asksToSwitch) return { unreadable: "switch_not_asked_for" };
    return head.status === 101 || tunnels ? "switched" : 0;
  }
  // Here the fields describe the body that a GET, or an unconditional one, would have had.
  if (head.status === 304 || request.method === "HEAD") return 0;
  return declared ?? "until_close";
}

/** What the framing headers say, null where there are none. */
function declaredFraming(headers: HeaderList, version: string): number | "chunked" | null | Unreadable {
  let length: string | null = null;
  let coding: string | null = null;
  for (const header of headers) {
    // Lengths first: nearly every name is passed over without a new string.
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
  // At most 15 digits, so that the number is exact.
  return /^\d{1,15}$/.test(length) ? Number(length) : { unreadable: "bad_content_length" };
}

const CONTENT_LENGTH = "content-length";
const TRANSFER_ENCODING = "transfer-encoding";
