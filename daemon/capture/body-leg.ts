import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";

/** The bytes of one body on their way to a reader, decoded where they are encoded. */
export interface BodyLeg {
  push(bytes: Uint8Array): void;
  /**
   * No more input. Calls back when the last decoded byte was delivered; `readable` is false where the encoding is
   * unknown or the body does not decode to its end. May be called again: it then only asks.
   */
  end(done: (readable: boolean) => void): void;
}

/** No encoding, however it is said: a header without a value, or with empty members. RFC 9110, section 5.6.1.2. */
const IS_PLAIN = /^(?:[\s,]|identity)*$/i;

export function createBodyLeg(
  createDecoder: CreateContentDecoder,
  contentEncoding: string | null,
  deliver: (bytes: Uint8Array) => void,
): BodyLeg {
  if (contentEncoding === null || IS_PLAIN.test(contentEncoding)) {
    return { push: deliver, end: (done) => done(true) };
  }
  let readable: boolean | null = null;
  let waiting: ((readable: boolean) => void)[] = [];
  let ended = false;
  const decoder = createDecoder(contentEncoding, {
    bytes: deliver,
    ended(how) {
      readable = how === "whole";
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback(readable);
    },
  });
  if (decoder === null) return { push() {}, end: (done) => done(false) };
  return {
    push: (bytes) => decoder.push(bytes),
    end(done) {
      if (readable !== null) return done(readable);
      waiting.push(done);
      if (!ended) decoder.end();
      ended = true;
    },
  };
}
