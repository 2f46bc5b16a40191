import type { ErrorClass } from "../../core/values/record.ts";
import { type Answer, noUsage, type ProviderCall, type ProviderName, type StatedError } from "./answer.ts";
import type { Outcome } from "./scenario.ts";

type Headers = readonly (readonly [name: string, value: string])[];

/** How one provider reports one failure. The class and the flag are the specification's, written by hand. */
interface Failure {
  status: number;
  type: string | null;
  code: string | null;
  message: string;
  errorClass: ErrorClass;
  retryable: boolean;
  headers?: Headers;
}

type FailureOutcome = Extract<
  Outcome,
  "unauthorised" | "rate-limit" | "quota" | "overloaded" | "server-error" | "bad-request" | "not-found"
>;

function failure(
  status: number,
  [type, code]: readonly [string | null, string | null],
  message: string,
  [errorClass, retryable]: readonly [ErrorClass, boolean],
  headers: Headers = [],
): Failure {
  return { status, type, code, message, errorClass, retryable, headers };
}

const auth = ["auth", false] as const;
const limited = ["rate_limit", true] as const;
const serverError = ["server_error", true] as const;
const badRequest = ["bad_request", false] as const;

// The messages contain nothing secret, and differ, so that their hashes differ.
const openaiFailures: Readonly<Record<FailureOutcome, Failure>> = {
  unauthorised: failure(
    401,
    ["invalid_request_error", "invalid_api_key"],
    "Incorrect API key provided: sk-simul****ated.",
    auth,
  ),
  "rate-limit": failure(
    429,
    ["requests", "rate_limit_exceeded"],
    "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1.",
    limited,
    [
      ["retry-after", "1"],
      ["retry-after-ms", "20"],
    ],
  ),
  quota: failure(
    429,
    ["insufficient_quota", "insufficient_quota"],
    "You exceeded your current quota, please check your plan and billing details.",
    auth,
    [["x-should-retry", "false"]],
  ),
  overloaded: failure(
    503,
    ["service_unavailable_error", "server_is_overloaded"],
    "The server is currently overloaded with other requests.",
    serverError,
  ),
  "server-error": failure(
    500,
    ["server_error", null],
    "The server had an error while processing your request.",
    serverError,
  ),
  "bad-request": failure(
    400,
    ["invalid_request_error", "unsupported_parameter"],
    "Unsupported parameter in this simulation.",
    badRequest,
  ),
  "not-found": failure(
    404,
    ["invalid_request_error", "model_not_found"],
    "The model does not exist or you do not have access to it.",
    badRequest,
  ),
};

const failures: Readonly<Record<ProviderName, Readonly<Record<FailureOutcome, Failure>>>> = {
  anthropic: {
    unauthorised: failure(401, ["authentication_error", null], "invalid x-api-key", auth),
    "rate-limit": failure(
      429,
      ["rate_limit_error", null],
      "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
      limited,
      [
        ["retry-after", "1"],
        ["x-should-retry", "true"],
      ],
    ),
    quota: failure(
      429,
      ["rate_limit_error", "enforced_spend_limit_reached"],
      "The organization's spend limit has been reached.",
      auth,
      [["x-should-retry", "false"]],
    ),
    overloaded: failure(529, ["overloaded_error", null], "Overloaded", serverError, [
      ["x-should-retry", "true"],
    ]),
    "server-error": failure(500, ["api_error", null], "Internal server error", serverError),
    "bad-request": failure(
      400,
      ["invalid_request_error", null],
      "messages: text content blocks must be non-empty",
      badRequest,
    ),
    "not-found": failure(404, ["not_found_error", null], "model: claude-nowhere", badRequest),
  },
  openai: openaiFailures,
  gemini: {
    unauthorised: failure(
      403,
      ["PERMISSION_DENIED", null],
      "Method doesn't allow unregistered callers (callers without established identity).",
      auth,
    ),
    "rate-limit": failure(
      429,
      ["RESOURCE_EXHAUSTED", null],
      "You exceeded your current quota per minute. Please retry in 1s.",
      limited,
    ),
    quota: failure(402, ["RESOURCE_EXHAUSTED", null], "The prepaid balance is used up.", auth),
    overloaded: failure(
      503,
      ["UNAVAILABLE", null],
      "The model is overloaded. Please try again later.",
      serverError,
    ),
    "server-error": failure(500, ["INTERNAL", null], "An internal error has occurred.", serverError),
    "bad-request": failure(
      400,
      ["INVALID_ARGUMENT", null],
      "Invalid value at 'contents' in this simulation.",
      badRequest,
    ),
    "not-found": failure(
      404,
      ["NOT_FOUND", null],
      "models/nowhere is not found for API version v1beta.",
      badRequest,
    ),
  },
  xai: {
    unauthorised: failure(
      400,
      [null, "Client specified an invalid argument"],
      "Incorrect API key provided: si***ed.",
      auth,
    ),
    "rate-limit": failure(
      429,
      [null, "Some resource has been exhausted"],
      "Too many requests for team 0000: 3 per minute.",
      limited,
      [["retry-after", "1"]],
    ),
    quota: failure(
      403,
      [null, "The caller does not have permission to execute the specified operation"],
      "Your team has either used all available credits or reached its monthly spending limit.",
      auth,
    ),
    overloaded: failure(
      503,
      [null, "The service is currently unavailable"],
      "Service temporarily unavailable. The model is at capacity.",
      serverError,
    ),
    "server-error": failure(500, [null, "Internal error"], "Failed to generate a response.", serverError),
    "bad-request": failure(
      400,
      [null, "Client specified an invalid argument"],
      "Argument not supported on this model: simulation.",
      badRequest,
    ),
    "not-found": failure(
      404,
      [null, "Some requested entity was not found"],
      "The model nowhere does not exist.",
      badRequest,
    ),
  },
  openrouter: {
    unauthorised: failure(401, [null, null], "No auth credentials found", auth),
    "rate-limit": failure(429, [null, null], "Rate limit exceeded: free-models-per-min.", limited, [
      ["retry-after", "1"],
    ]),
    quota: failure(402, [null, null], "Insufficient credits. Add more to continue.", auth),
    overloaded: failure(503, [null, null], "No instances available", serverError),
    "server-error": failure(502, [null, null], "Provider returned error", serverError),
    "bad-request": failure(400, [null, null], "Input required: specify prompt or messages", badRequest),
    "not-found": failure(404, [null, null], "No endpoints found for the model", badRequest),
  },
  ollama: {
    unauthorised: failure(401, [null, null], "unauthorized", auth),
    "rate-limit": failure(429, [null, null], "too many requests", limited),
    quota: failure(402, [null, null], "usage limit reached", auth),
    overloaded: failure(
      503,
      [null, null],
      "server busy, please try again. maximum pending requests exceeded",
      serverError,
    ),
    "server-error": failure(
      500,
      [null, null],
      "llama runner process has terminated: exit status 2",
      serverError,
    ),
    "bad-request": failure(400, [null, null], "invalid options", badRequest),
    "not-found": failure(404, [null, null], "model 'nowhere' not found", badRequest),
  },
};

function isFailure(outcome: Outcome): outcome is FailureOutcome {
  return outcome in openaiFailures;
}

/** Returns the provider's response to a failed call, or `null` if the scenario does not fail before the stream. */
export function answerFailure(call: ProviderCall, requestedModel: string | null): Answer | null {
  const { outcome } = call.scenario;
  if (!isFailure(outcome)) return null;
  const found = failures[call.provider][outcome];
  const text = JSON.stringify(errorBody(call, found));
  return {
    status: found.status,
    headers: [["content-type", "application/json"], ...(found.headers ?? [])],
    parts: [{ text, stated: noUsage }],
    streaming: false,
    model: requestedModel,
    responseId: null,
    serviceTier: null,
    extras: {},
    error: statedError(found),
  };
}

/** Returns the error that a provider sends inside a stream after status 200, as a body value and as a stated fact. */
export function midStreamError(call: ProviderCall): { body: unknown; error: StatedError } {
  const found = failures[call.provider].overloaded;
  return { body: errorBody(call, found), error: statedError(found) };
}

function statedError(found: Failure): StatedError {
  const { type, code, message, errorClass, retryable } = found;
  return { type, code, message, errorClass, retryable };
}

function errorBody(call: ProviderCall, found: Failure): unknown {
  const { type, code, message } = found;
  switch (call.provider) {
    case "anthropic": {
      const details = code === null ? null : { error_code: code };
      return {
        type: "error",
        error: { details, type, message },
        request_id: `req_011C${call.random.text(20)}`,
      };
    }
    case "openai":
      return { error: { message, type, param: null, code } };
    case "xai":
      return { code, error: message };
    case "openrouter":
      return { error: { message, code: found.status }, user_id: "user_simulated" };
    case "ollama":
      return { error: message };
    case "gemini":
      return { error: { code: found.status, message, status: type, details: googleDetails(found) } };
  }
}

function googleDetails(found: Failure): unknown[] {
  if (found.status !== 429) return [];
  return [
    {
      "@type": "type.googleapis.com/google.rpc.QuotaFailure",
      violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }],
    },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1s" },
  ];
}
