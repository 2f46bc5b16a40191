/** Why there is no usable HTTP response. `invalid_answer`: a response arrived, but not in the expected form. */
export type TransportReason =
  | "timeout"
  | "connection_refused"
  | "connection_reset"
  | "dns_failure"
  | "tls_failure"
  | "aborted"
  | "invalid_answer"
  | "other";

/** An HTTP response of the cloud, reduced to plain values. */
export interface HttpResponse {
  readonly kind: "http";
  readonly status: number;
  /** The delay of the `Retry-After` header (see `parseRetryAfter`); `null` without a usable header. */
  readonly retryAfterMs: number | null;
  /** The stable problem code of the response, if it has one. */
  readonly code?: string;
}

/** A request without an HTTP response. */
export interface TransportFailure {
  readonly kind: "transport";
  readonly reason: TransportReason;
}

/** A secret and the only origin (`https://host[:port]`) to which it may be sent. */
export interface BoundToken {
  readonly token: string;
  readonly origin: string;
}

/** A request to the cloud or to a publisher of rates. */
export interface CloudRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Absolute, without credentials. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`; null for a request without one. */
  readonly bearer: BoundToken | null;
  /** JSON; null for a request without a body. */
  readonly body: string | null;
  readonly ifNoneMatch?: string | null;
  /** Further headers, with names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The longest response body that is read, in bytes; a longer one is `invalid_answer`. */
  readonly maxResponseBytes: number;
  /** The time limit for the whole exchange, milliseconds. */
  readonly timeoutMs: number;
  /** Aborts the request when it resolves; the result is then `aborted`. */
  readonly cancelled?: Promise<unknown>;
}

/** An HTTP response with its body. */
export interface CloudHttpResponse extends HttpResponse {
  readonly etag: string | null;
  readonly body: Uint8Array;
}

/** The result of a request. It holds no secret and nothing that was sent. */
export type CloudClientResult = CloudHttpResponse | TransportFailure;

/**
 * Sends HTTP requests. It never follows redirects, always verifies certificates, ignores proxy variables of the environment
 * and bounds every wait. It never rejects for an outside failure; it throws a `TypeError` if a token would be sent to another
 * origin, or over anything but https and loopback http.
 */
export interface CloudClient {
  send(request: CloudRequest): Promise<CloudClientResult>;
  /** Closes idle connections. Safe to call twice. */
  close(): Promise<void>;
}
