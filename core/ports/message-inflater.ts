/** A message's bytes before compression, or why there are none. */
export type InflatedMessage =
  | { kind: "inflated"; bytes: Uint8Array }
  /** More than the bound, or no DEFLATE data. */
  | { kind: "too_large" | "damaged" };

/** Undoes `permessage-deflate` (RFC 7692) on the messages of one direction of one connection, in their order. */
export interface MessageInflater {
  /**
   * Takes the payload of one compressed message, whole. At once, in bounded memory, and never throws. After an answer
   * other than `inflated` it may not be asked again where messages share their window.
   */
  inflate(payload: Uint8Array): InflatedMessage;
}

/** How a direction was agreed to be compressed. */
export interface InflaterOptions {
  /** Whether a message may refer to the ones before it ("context takeover"). */
  readonly sharesWindow: boolean;
  /** The most that one message may inflate to, in bytes. */
  readonly maxBytes: number;
}

/** Makes the inflater of one direction. */
export type CreateMessageInflater = (options: InflaterOptions) => MessageInflater;
