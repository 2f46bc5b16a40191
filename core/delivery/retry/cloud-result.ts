import type { HttpResponse, TransportFailure } from "../../ports/cloud-client.ts";

/** The result of a request to the cloud. */
export type CloudResult = HttpResponse | TransportFailure;

/** Describes a result for `last_error` and for messages: status and problem code, no other part of the body. */
export function describeResult(result: CloudResult): string {
  if (result.kind === "transport") return `no answer: ${result.reason}`;
  return result.code === undefined ? `HTTP ${result.status}` : `HTTP ${result.status} ${result.code}`;
}

/** Whether a message was too large for its receiver, so that a smaller one may be accepted. Source: RFC 9110, section 15.5.14. */
export const isTooLarge = (result: CloudResult): boolean => result.kind === "http" && result.status === 413;

/** Returns the response's `Retry-After`, or `null`. */
export function retryAfterOf(result: CloudResult): number | null {
  return result.kind === "http" ? result.retryAfterMs : null;
}
