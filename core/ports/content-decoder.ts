/**
 * How decoding ended. `cut`: the input ended early, if the runtime reports that. `too_large`: the output exceeded its
 * limit.
 */
export type DecodingEnd = "whole" | "cut" | "damaged" | "too_large";

/** Receives the decoded bytes. `ended` is called exactly once, after the last `bytes`. */
export interface DecodedSink {
  bytes(bytes: Uint8Array): void;
  ended(how: DecodingEnd): void;
}

/** Decodes a `Content-Encoding` on a copy of a body. Preserves the order of the bytes and never throws. */
export interface ContentDecoder {
  /** Decodes the next bytes. The caller may reuse them after the call. */
  push(bytes: Uint8Array): void;
  /** Ends the input. Everything decoded so far is still delivered. */
  end(): void;
}

/**
 * Creates a decoder for the value of a `Content-Encoding` header (RFC 9110, section 8.4: the last encoding listed was
 * applied last). Returns `null` if an encoding is unknown or more than two are chained.
 */
export type CreateContentDecoder = (contentEncoding: string, sink: DecodedSink) => ContentDecoder | null;
