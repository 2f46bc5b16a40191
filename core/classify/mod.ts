/**
 * Puts a failed call into one of the wire's seven error classes and says whether the same request may succeed later.
 * It works on plain facts: the status, what the answer said about its failure (read by `core/usage`, from a JSON answer
 * or from an error event after a 200), or how the connection failed. Billing and credentials are `auth`, never
 * retryable; load and rates are retryable; a client's own abort is `network`, not retryable.
 *
 * ```ts
 * import { classifyError } from "./mod.ts";
 *
 * const error = { type: "insufficient_quota", code: "credit_balance_exhausted", message: null, status: null };
 * const found = classifyError("openai", { kind: "answered", status: 429, error, complete: true });
 * console.log(found.errorClass, found.retryable); // auth false
 * ```
 */
export type { CallOutcome, ClassifiedError, TransportFailure } from "./classify-error.ts";
export { classifyError } from "./classify-error.ts";
