/** An inflated message, or why it could not be inflated. */
export type InflatedMessage =
  | { kind: "inflated"; bytes: Uint8Array }
  /** `too_large`: the message exceeds the limit. `damaged`: it is not valid DEFLATE data. */
  | { kind: "too_large" | "damaged" };

/** Inflates `permessage-deflate` messages (RFC 7692) of one direction of a connection, in order. */
export interface MessageInflater {
  /**
   * Inflates the complete payload of one message, synchronously and in bounded memory. Never throws. After a result other
   * than `inflated`, it must not be called again if messages share their window.
   */
  inflate(payload: Uint8Array): InflatedMessage;
}

/** The negotiated compression of a direction. */
export interface InflaterOptions {
  /** Whether a message may refer to earlier ones ("context takeover"). */
  readonly contextTakeover: boolean;
  /** Maximum inflated size of a message, in bytes. */
  readonly maxBytes: number;
}

/** Creates an inflater for one direction. */
export type CreateMessageInflater = (options: InflaterOptions) => MessageInflater;
