import type { HttpAnswer, TransportAnswer } from "../retry/mod.ts";

/** A secret and the only origin (`https://host[:port]`) that it may be shown to. */
export interface BoundToken {
  readonly token: string;
  readonly origin: string;
}

/** One request to the cloud, or to whoever publishes rates. */
export interface CloudRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Absolute, without a login in it. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`; null for a request without one. */
  readonly bearer: BoundToken | null;
  /** A JSON text; null for a request without a body. */
  readonly body: string | null;
  readonly ifNoneMatch?: string | null;
  /** The longest answer that is read, in bytes; a longer one is `invalid_answer`. */
  readonly maxAnswerBytes: number;
  /** How long the whole exchange may take, milliseconds. */
  readonly timeoutMs: number;
  /** Gives the request up when it resolves: then the answer is `aborted`. */
  readonly cancelled?: Promise<unknown>;
}

/** An HTTP answer with its bytes. */
export interface CloudHttpReply extends HttpAnswer {
  readonly etag: string | null;
  readonly body: Uint8Array;
}

/** What came of a request. It holds no secret, nor anything of what was sent. */
export type CloudReply = CloudHttpReply | TransportAnswer;

/**
 * Asks over HTTP: redirects are answers and never followed, certificates always verified, no proxy of the environment
 * used, every wait bounded. Never rejects for what happens outside; throws a `TypeError` where a token would go to
 * another origin than its own, or over anything but https and loopback http.
 */
export interface CloudClient {
  send(request: CloudRequest): Promise<CloudReply>;
  /** Closes idle connections. Safe to call twice. */
  close(): Promise<void>;
}
