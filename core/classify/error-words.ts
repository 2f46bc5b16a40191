import type { ErrorClass } from "../record.ts";

/** What a failure means for whoever meters it. */
export interface Verdict {
  readonly errorClass: ErrorClass;
  /** Whether the same request may succeed when it is sent again later. */
  readonly retryable: boolean;
}

const verdict = (errorClass: ErrorClass, retryable: boolean): Verdict => ({ errorClass, retryable });

/** Credentials, rights and billing: somebody has to act first. */
export const AUTH = verdict("auth", false);
/** Too many requests or tokens for the moment. */
export const RATE_LIMIT = verdict("rate_limit", true);
/** A fault or overload on the provider's side. */
export const SERVER_ERROR = verdict("server_error", true);
/** No answer came in time. */
export const TIMEOUT = verdict("timeout", true);
/** The request itself is at fault, and stays so. */
export const BAD_REQUEST = verdict("bad_request", false);
/** Two requests met (HTTP 409): the request itself may be fine next time. */
export const CONFLICT = verdict("bad_request", true);
/** The connection failed or broke off. */
export const NETWORK = verdict("network", true);
/** The client itself went away (decisions, "Daemon"). */
export const ABORTED = verdict("network", false);

/** Providers' types and codes, as `plainWord` writes them, that say more than the status beside them. */
export const DECISIVE_WORDS: ReadonlyMap<string, Verdict> = new Map(
  (
    [
      [
        AUTH,
        // OpenAI: the type stays `insufficient_quota` while the code varies; the contract names the code.
        "insufficientquota creditbalanceexhausted organizationspendlimitexceeded projectspendlimitexceeded",
        "organizationusagelimitexceeded billinghardlimitreached billingnotactive accountdeactivated",
        "invalidapikey",
        // Anthropic, in `error.details.error_code` and in the type.
        "enforcedspendlimitreached contractspendlimitreached linkedorganizationspendlimitreached",
        "linkedorganizationbillingunavailable organizationonhold billingerror authenticationerror permissionerror",
        // Google answers a bad key with 400 INVALID_ARGUMENT and says so in a reason.
        "apikeyinvalid apikeyexpired apikeyserviceblocked",
        // OpenRouter, DeepSeek, Groq, Mistral.
        "paymentrequired insufficientcredits weightexceedsbudget insufficientbalance invalidbalance",
        // Codex: the subscription does not hold what was asked for.
        "usagenotincluded",
        // AWS.
        "accessdenied unrecognizedclient expiredtoken invalidsignature invalidclienttokenid",
      ],
      // OpenRouter answers 402 while the caller's own running requests fill the budget: that passes by itself.
      [RATE_LIMIT, "inflightbudgetexhausted throttling modelnotready"],
      // Groq's `capacity_exceeded` comes with a 498: flex had no room (console.groq.com/docs/flex-processing).
      [SERVER_ERROR, "modelstreamerror modelerror serverisoverloaded overloadederror capacityexceeded"],
      [TIMEOUT, "timeouterror deadlineexceeded modeltimeout"],
    ] as const
  ).flatMap(([meaning, ...lines]) =>
    lines.flatMap((line) => line.split(" ").map((word) => [word, meaning] as const)),
  ),
);

/** Types and codes that count where no status does: in an error event after a 200. */
export const INBAND_WORDS: ReadonlyMap<string, Verdict> = new Map(
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
 * A type or code in one spelling: letters and digits alone, lower case, without AWS's `Exception` and the `:` and what
 * follows it in an `x-amzn-errortype`; `Insufficient Balance`, `insufficient_balance` and `InsufficientBalance` are one.
 */
export function plainWord(word: string): string {
  const name = word.slice(word.lastIndexOf("#") + 1).replace(/:.*$/s, "");
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .replace(/exception$/, "");
}

/**
 * xAI writes the codes of gRPC (google.rpc.Code) as sentences, always the same ones: those of tonic's `Code::description()`,
 * without a word of the request.
 */
export const CODE_SENTENCES: ReadonlySet<string> = new Set([
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
