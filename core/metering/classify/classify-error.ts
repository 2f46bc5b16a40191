import type { ErrorClass } from "../../values/record.ts";
import type { ProviderError } from "../usage/usage-report.ts";
import {
  ABORTED,
  AUTH,
  BAD_REQUEST,
  type Classification,
  CONFLICT,
  DECISIVE_CODES,
  GRPC_CODE_TEXTS,
  IN_STREAM_CODES,
  NETWORK,
  normaliseErrorCode,
  RATE_LIMIT,
  SERVER_ERROR,
  TIMEOUT,
} from "./error-codes.ts";

/** A failure below HTTP. `aborted`: the client closed the connection. */
export type CallFailure = "timeout" | "network" | "aborted";

/** How a call ended. */
export type CallOutcome =
  | {
      kind: "answered";
      status: number;
      error: ProviderError | null;
      /** False if the provider closed the connection before the end of the response. */
      complete: boolean;
    }
  | { kind: "transport"; reason: CallFailure }
  /** The client got a response of which not even the status could be read. */
  | { kind: "unread" };

/** The classification of an outcome, in wire terms. All fields are null for a call that did not fail. */
export interface ClassifiedError {
  errorClass: ErrorClass | null;
  /** Null if unknown. */
  retryable: boolean | null;
  /** The provider's error code, or its error type if there is no code; null if neither is usable. */
  providerErrorCode: string | null;
}

/**
 * Classifies an outcome. Codes that are more specific than the status (such as billing errors with a 429 or 400) are checked
 * first, then the status, and then, for an error after a 200, the remaining codes. Any other failure is `unknown`.
 * Source: docs/specification.md#request-record, and the providers' own error pages.
 */
export function classifyError(provider: string, outcome: CallOutcome): ClassifiedError {
  if (outcome.kind === "unread") return NO_ERROR;
  if (outcome.kind === "transport") return { ...TRANSPORT[outcome.reason], providerErrorCode: null };
  const { status, error, complete } = outcome;
  if (status < 400 && error === null) return complete ? NO_ERROR : { ...NETWORK, providerErrorCode: null };
  const providerErrorCode = safeErrorCode(error?.code) ?? safeErrorCode(error?.type);
  const codes = [error?.code, error?.type]
    .filter((code) => code !== null && code !== undefined)
    .map(normaliseErrorCode);
  const found =
    findCode(DECISIVE_CODES, codes) ??
    classifyByMessage(provider, status, error?.message ?? "") ??
    classifyByStatus(status >= 400 ? status : inStreamStatus(error)) ??
    findCode(IN_STREAM_CODES, codes);
  return found === null
    ? { errorClass: "unknown", retryable: null, providerErrorCode }
    : { ...found, providerErrorCode };
}

/**
 * Returns the code if it is safe to send to the cloud. Decision: only single words and known sentences are safe, because any
 * other sentence may quote the prompt or the API key.
 */
function safeErrorCode(code: string | null | undefined): string | null {
  return code != null && (/^[\w.:/#-]{1,64}$/.test(code) || GRPC_CODE_TEXTS.has(code)) ? code : null;
}

const NO_ERROR: ClassifiedError = Object.freeze({
  errorClass: null,
  retryable: null,
  providerErrorCode: null,
});

const TRANSPORT: Readonly<Record<CallFailure, Classification>> = {
  timeout: TIMEOUT,
  network: NETWORK,
  aborted: ABORTED,
};

/** Returns the classification of the first known code. Callers pass the code before the type, because it is more specific. */
function findCode(
  table: ReadonlyMap<string, Classification>,
  codes: readonly string[],
): Classification | null {
  for (const code of codes) {
    const found = table.get(code);
    if (found !== undefined) return found;
  }
  return null;
}

const GOOGLE_BILLING = /\blimit: 0\b|prepa(y|id)|spend(ing)? (cap|limit)|billing account/i;

/** Errors that can only be recognised by their message. If a provider rewords a message, the status decides. */
const MESSAGE_RULES: readonly [provider: string, status: number, text: RegExp][] = [
  // Anthropic, "Errors": a spend limit or an empty balance is reported as 400 invalid_request_error.
  ["anthropic", 400, /credit balance is too low|reached (your|the) .{0,60}limits?\b|spend(ing)? limit/i],
  // Google: a quota of zero, an empty prepaid balance and a spend cap are reported as 429 RESOURCE_EXHAUSTED.
  ...(["gemini", "vertex", "code-assist"] as const).map(
    (provider) => [provider, 429, GOOGLE_BILLING] as [string, number, RegExp],
  ),
  // xAI responds to an invalid key with 400.
  ["xai", 400, /incorrect api key/i],
  // Fireworks responds with 412 if an account is suspended, over its spending limit or unpaid.
  ["fireworks", 412, /suspended|spending limit|unpaid/i],
];

function classifyByMessage(provider: string, status: number, message: string): Classification | null {
  const rule = MESSAGE_RULES.find(
    ([name, answered, text]) => name === provider && answered === status && text.test(message),
  );
  return rule === undefined ? null : AUTH;
}

/** Returns the status stated in an error after a 200, either as a number or as a three-digit code. */
function inStreamStatus(error: ProviderError | null): number | null {
  if (error?.status != null) return error.status;
  return error?.code != null && /^[45]\d\d$/.test(error.code) ? Number(error.code) : null;
}

function classifyByStatus(status: number | null): Classification | null {
  if (status === null) return null;
  const exact = BY_STATUS.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500) return SERVER_ERROR;
  return BAD_REQUEST;
}

/** Statuses that are classified differently from the rest of their class. */
const BY_STATUS: ReadonlyMap<number, Classification> = new Map([
  [401, AUTH],
  [402, AUTH],
  [403, AUTH],
  [407, AUTH],
  [408, TIMEOUT],
  [409, CONFLICT],
  [425, CONFLICT],
  [429, RATE_LIMIT],
  // Cohere: invalid token.
  [498, AUTH],
  // nginx and Google: client closed request.
  [499, ABORTED],
  [501, { errorClass: "server_error", retryable: false }],
  [504, TIMEOUT],
  // Cloudflare: connection timed out, and a timeout occurred.
  [522, TIMEOUT],
  [524, TIMEOUT],
]);
