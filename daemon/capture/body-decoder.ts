import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";

/** Decodes the content encoding of one body. */
export interface BodyDecoder {
  push(bytes: Uint8Array): void;
  /**
   * Ends the input. Calls back when the last decoded byte was delivered. `readable` is false if the encoding is unknown or the
   * body can't be decoded completely. May be called again to get the result again.
   */
  end(done: (readable: boolean) => void): void;
}

/** The `Content-Encoding` values that mean no encoding, including empty list members (RFC 9110, section 5.6.1.2). */
const IS_PLAIN = /^(?:[\s,]|identity)*$/i;

export function createBodyDecoder(
  createDecoder: CreateContentDecoder,
  contentEncoding: string | null,
  deliver: (bytes: Uint8Array) => void,
): BodyDecoder {
  if (contentEncoding === null || IS_PLAIN.test(contentEncoding)) {
    return { push: deliver, end: (done) => done(true) };
  }
  let readable: boolean | null = null;
  let callbacksAtEnd: ((readable: boolean) => void)[] = [];
  let ended = false;
  const decoder = createDecoder(contentEncoding, {
    bytes: deliver,
    ended(how) {
      readable = how === "whole";
      const callbacks = callbacksAtEnd;
      callbacksAtEnd = [];
      for (const callback of callbacks) callback(readable);
    },
  });
  if (decoder === null) return { push() {}, end: (done) => done(false) };
  return {
    push: (bytes) => decoder.push(bytes),
    end(done) {
      if (readable !== null) return done(readable);
      callbacksAtEnd.push(done);
      if (!ended) decoder.end();
      ended = true;
    },
  };
}
