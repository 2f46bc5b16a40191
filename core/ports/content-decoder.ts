/** How decoding ended: `cut` = the input stopped early (as far as the runtime tells), `too_large` = past its bound. */
export type DecodingEnd = "whole" | "cut" | "damaged" | "too_large";

/** Where the decoded bytes go. `ended` is called exactly once, after the last `bytes`. */
export interface DecodedSink {
  bytes(bytes: Uint8Array): void;
  ended(how: DecodingEnd): void;
}

/** Undoes a `Content-Encoding` on a copy of a body. Order is kept; nothing throws. */
export interface ContentDecoder {
  /** Takes the next encoded bytes, which the caller may reuse after the call. */
  push(bytes: Uint8Array): void;
  /** Says that no more input comes. What was decoded until then is still delivered. */
  end(): void;
}

/**
 * Makes a decoder for the value of a `Content-Encoding` header (RFC 9110, section 8.4: the last one listed was
 * applied last). `null` where an encoding is not known or more than two are chained.
 */
export type CreateContentDecoder = (contentEncoding: string, sink: DecodedSink) => ContentDecoder | null;
