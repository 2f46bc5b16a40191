import type { TransportReason } from "../../core/ports/cloud-client.ts";

const REASONS: Readonly<Record<string, TransportReason>> = {
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  ETIMEDOUT: "timeout",
  TimeoutError: "timeout",
  ECONNREFUSED: "connection_refused",
  ConnectionRefused: "connection_refused",
  ECONNRESET: "connection_reset",
  EPIPE: "connection_reset",
  UND_ERR_SOCKET: "connection_reset",
  UND_ERR_CLOSED: "aborted",
  UND_ERR_DESTROYED: "aborted",
  UND_ERR_ABORTED: "aborted",
  AbortError: "aborted",
  HTTPParserError: "invalid_answer",
  ENOTFOUND: "dns_failure",
  EAI_AGAIN: "dns_failure",
  EAI_FAIL: "dns_failure",
  EAI_NODATA: "dns_failure",
};

/** Error codes of OpenSSL and Node for an untrusted certificate or a failed handshake. */
const TLS =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO)/;

/** Error codes of the HTTP parser for a malformed response. */
const MALFORMED = /^(?:HPE_|UND_ERR_(?:HEADERS_OVERFLOW|RES_|RESPONSE|REQ_CONTENT))/;

/** Returns why there was no response. Uses only the codes in the chain of causes, since messages contain host names. */
export function transportReason(error: unknown): TransportReason {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && typeof at === "object" && at !== null; depth += 1) {
    const { code, name, cause, errors } = at as {
      code?: unknown;
      name?: unknown;
      cause?: unknown;
      errors?: unknown;
    };
    for (const word of [code, name]) {
      if (typeof word !== "string") continue;
      const reason = Object.hasOwn(REASONS, word) ? REASONS[word] : undefined;
      if (reason !== undefined) return reason;
      if (TLS.test(word)) return "tls_failure";
      if (MALFORMED.test(word)) return "invalid_answer";
    }
    // Several addresses were tried; the first error's reason is used.
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return "other";
}
