import type { ErrorClass } from "../../values/record.ts";

/** The class of an error, and whether it is retryable. */
export interface Classification {
  readonly errorClass: ErrorClass;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
}

const classification = (errorClass: ErrorClass, retryable: boolean): Classification => ({
  errorClass,
  retryable,
});

/** Credentials, permissions and billing: a person has to act first. */
export const AUTH = classification("auth", false);
/** Too many requests or tokens at the moment. */
export const RATE_LIMIT = classification("rate_limit", true);
/** A fault or overload at the provider. */
export const SERVER_ERROR = classification("server_error", true);
/** No response in time. */
export const TIMEOUT = classification("timeout", true);
/** The request itself is invalid. */
export const BAD_REQUEST = classification("bad_request", false);
/** A conflict with another request (HTTP 409). The same request may succeed later. */
export const CONFLICT = classification("bad_request", true);
/** The connection failed or was interrupted. */
export const NETWORK = classification("network", true);
/** The client closed the connection (docs/specification.md#error-classification). */
export const ABORTED = classification("network", false);

/** Error types and codes, as normalised by `normaliseErrorCode`, that are more specific than the HTTP status. */
export const DECISIVE_CODES: ReadonlyMap<string, Classification> = new Map(
  (
    [
      [
        AUTH,
        // OpenAI: the type stays `insufficient_quota` while the code varies; docs/specification.md#error-classification names the code.
        "insufficientquota creditbalanceexhausted organizationspendlimitexceeded projectspendlimitexceeded",
        "organizationusagelimitexceeded billinghardlimitreached billingnotactive accountdeactivated",
        "invalidapikey",
        // Anthropic, in `error.details.error_code` and in the type.
        "enforcedspendlimitreached contractspendlimitreached linkedorganizationspendlimitreached",
        "linkedorganizationbillingunavailable organizationonhold billingerror authenticationerror permissionerror",
        // Google responds to an invalid key with 400 INVALID_ARGUMENT; only the reason is specific.
        "apikeyinvalid apikeyexpired apikeyserviceblocked",
        // OpenRouter, DeepSeek, Groq, Mistral.
        "paymentrequired insufficientcredits weightexceedsbudget insufficientbalance invalidbalance",
        // Codex: the subscription does not include the requested usage.
        "usagenotincluded",
        // AWS.
        "accessdenied unrecognizedclient expiredtoken invalidsignature invalidclienttokenid",
      ],
      // OpenRouter responds with 402 while requests in flight exhaust the budget, which is temporary.
      [RATE_LIMIT, "inflightbudgetexhausted throttling modelnotready"],
      // Groq sends `capacity_exceeded` with a 498 if flex processing is at capacity (console.groq.com/docs/flex-processing).
      [SERVER_ERROR, "modelstreamerror modelerror serverisoverloaded overloadederror capacityexceeded"],
      [TIMEOUT, "timeouterror deadlineexceeded modeltimeout"],
    ] as const
  ).flatMap(([meaning, ...lines]) =>
    lines.flatMap((line) => line.split(" ").map((word) => [word, meaning] as const)),
  ),
);

/** Error types and codes that are checked in an error event after a 200, where the status says nothing. */
export const IN_STREAM_CODES: ReadonlyMap<string, Classification> = new Map(
  (
    [
      [AUTH, "permissiondenied unauthenticated unauthorized forbidden authentication tokenexpired"],
      [
        RATE_LIMIT,
        "ratelimiterror ratelimitexceeded ratelimited slowdown resourceexhausted quotaexceeded toomanyrequests",
      ],
      [
        SERVER_ERROR,
        "apierror servererror internal internalerror internalserver internalservererror internalfailure unavailable",
        "serviceunavailable servicetemporarilyunavailable overloaded provideroverloaded providerunavailable unknown",
        "vectorstoretimeout dataloss",
      ],
      [TIMEOUT, "timeout requesttimeout gatewaytimeout"],
      [CONFLICT, "conflicterror aborted conflict"],
      [ABORTED, "cancelled canceled"],
      [
        BAD_REQUEST,
        "invalidrequesterror invalidrequest invalidargument invalidprompt failedprecondition outofrange notfound",
        "notfounderror requesttoolarge contextlengthexceeded validation contentfilter contentpolicyviolation",
        "modelnotfound resourcenotfound imagecontentpolicyviolation unprocessableentityerror",
      ],
    ] as const
  ).flatMap(([meaning, ...lines]) =>
    lines.flatMap((line) => line.split(" ").map((word) => [word, meaning] as const)),
  ),
);

/**
 * Normalises an error type or code: lower-case letters and digits only, so that `Insufficient Balance`,
 * `insufficient_balance` and `InsufficientBalance` are equal. Removes AWS's `Exception` suffix, and the `:` and what follows
 * it in an `x-amzn-errortype`.
 */
export function normaliseErrorCode(word: string): string {
  const name = word.slice(word.lastIndexOf("#") + 1).replace(/:.*$/s, "");
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .replace(/exception$/, "");
}

/**
 * The sentences that xAI sends instead of gRPC codes (google.rpc.Code). They are the fixed texts of tonic's
 * `Code::description()` and never quote the request.
 */
export const GRPC_CODE_TEXTS: ReadonlySet<string> = new Set([
  "The operation was cancelled",
  "Unknown error",
  "Client specified an invalid argument",
  "Deadline expired before operation could complete",
  "Some requested entity was not found",
  "Some entity that we attempted to create already exists",
  "The caller does not have permission to execute the specified operation",
  "Some resource has been exhausted",
  "The system is not in a state required for the operation's execution",
  "The operation was aborted",
  "Operation was attempted past the valid range",
  "Operation is not implemented or not supported",
  "Internal error",
  "The service is currently unavailable",
  "Unrecoverable data loss or corruption",
  "The request does not have valid authentication credentials",
]);
