import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type CallFailure,
  type CallOutcome,
  classifyError,
} from "../../../../core/metering/classify/classify-error.ts";
import type { ProviderError } from "../../../../core/metering/usage/usage-report.ts";
import { ADDRESSES, readAnswer, sse } from "../usage/answers.rig.ts";

/** `class retryable code`, with `-` for null. */
function classify(provider: string, outcome: CallOutcome): string {
  const { errorClass, retryable, providerErrorCode } = classifyError(provider, outcome);
  return `${errorClass ?? "-"} ${retryable ?? "-"} ${providerErrorCode ?? "-"}`;
}

function answered(provider: string, status: number, error: Partial<ProviderError> | null): string {
  const whole = error === null ? null : { type: null, code: null, message: null, status: null, ...error };
  return classify(provider, { kind: "answered", status, error: whole, complete: true });
}

describe("classifyError() by the specification's rules", () => {
  it("a 429 whose error type is rate_limit_error becomes rate_limit, retryable", () => {
    assert.equal(
      answered("anthropic", 429, { type: "rate_limit_error" }),
      "rate_limit true rate_limit_error",
    );
  });
  it("a 429 whose code is insufficient_quota becomes auth, not retryable", () => {
    assert.equal(answered("openai", 429, { code: "insufficient_quota" }), "auth false insufficient_quota");
  });
  it("an overload error (529) becomes server_error, retryable", () => {
    assert.equal(
      answered("anthropic", 529, { type: "overloaded_error" }),
      "server_error true overloaded_error",
    );
    assert.equal(answered("anthropic", 529, null), "server_error true -");
  });
});

type Row = [provider: string, status: number, error: Partial<ProviderError> | null, expected: string];

const rows: Record<string, Row[]> = {
  Anthropic: [
    [
      "anthropic",
      400,
      { type: "invalid_request_error", message: "max_tokens: required" },
      "bad_request false invalid_request_error",
    ],
    [
      "anthropic",
      400,
      { type: "invalid_request_error", message: "Your credit balance is too low to access the API." },
      "auth false invalid_request_error",
    ],
    [
      "anthropic",
      400,
      { type: "invalid_request_error", message: "You have reached your specified API usage limits." },
      "auth false invalid_request_error",
    ],
    [
      "anthropic",
      400,
      { type: "invalid_request_error", message: "This workspace is over its spend limit" },
      "auth false invalid_request_error",
    ],
    [
      "anthropic",
      400,
      { type: "invalid_request_error", message: "You have reached your organization's monthly usage limit." },
      "auth false invalid_request_error",
    ],
    [
      "anthropic",
      500,
      { type: "api_error", message: "The spend limit could not be read." },
      "server_error true api_error",
    ],
    ["anthropic", 401, { type: "authentication_error" }, "auth false authentication_error"],
    ["anthropic", 402, { type: "billing_error" }, "auth false billing_error"],
    ["anthropic", 403, { type: "permission_error" }, "auth false permission_error"],
    ["anthropic", 404, { type: "not_found_error" }, "bad_request false not_found_error"],
    ["anthropic", 409, { type: "conflict_error" }, "bad_request true conflict_error"],
    ["anthropic", 413, { type: "request_too_large" }, "bad_request false request_too_large"],
    [
      "anthropic",
      429,
      { type: "rate_limit_error", code: "enforced_spend_limit_reached" },
      "auth false enforced_spend_limit_reached",
    ],
    [
      "anthropic",
      429,
      { type: "rate_limit_error", code: "contract_spend_limit_reached" },
      "auth false contract_spend_limit_reached",
    ],
    [
      "anthropic",
      429,
      { type: "rate_limit_error", code: "ramp_limit_exceeded" },
      "rate_limit true ramp_limit_exceeded",
    ],
    ["anthropic", 500, { type: "api_error" }, "server_error true api_error"],
    ["anthropic", 504, { type: "timeout_error" }, "timeout true timeout_error"],
    ["anthropic", 200, { type: "overloaded_error" }, "server_error true overloaded_error"],
    ["anthropic", 200, { type: "rate_limit_error" }, "rate_limit true rate_limit_error"],
    ["anthropic", 200, { type: "api_error" }, "server_error true api_error"],
    ["anthropic", 200, { type: "invalid_request_error" }, "bad_request false invalid_request_error"],
    ["anthropic", 200, { type: "timeout_error" }, "timeout true timeout_error"],
  ],
  OpenAI: [
    ["openai", 401, { type: "invalid_request_error", code: "invalid_api_key" }, "auth false invalid_api_key"],
    [
      "openai",
      429,
      { type: "insufficient_quota", code: "credit_balance_exhausted" },
      "auth false credit_balance_exhausted",
    ],
    [
      "openai",
      429,
      { type: "insufficient_quota", code: "organization_spend_limit_exceeded" },
      "auth false organization_spend_limit_exceeded",
    ],
    [
      "openai",
      429,
      { type: "insufficient_quota", code: "project_spend_limit_exceeded" },
      "auth false project_spend_limit_exceeded",
    ],
    [
      "openai",
      429,
      { type: "insufficient_quota", code: "organization_usage_limit_exceeded" },
      "auth false organization_usage_limit_exceeded",
    ],
    ["openai", 429, { type: "insufficient_quota" }, "auth false insufficient_quota"],
    [
      "openai",
      429,
      { type: "insufficient_quota", code: "a_code_of_tomorrow" },
      "auth false a_code_of_tomorrow",
    ],
    ["openai", 429, { type: "tokens", code: "rate_limit_exceeded" }, "rate_limit true rate_limit_exceeded"],
    ["openai", 429, { type: "rate_limit_error", code: "slow_down" }, "rate_limit true slow_down"],
    ["openai", 503, { type: "server_error", code: "slow_down" }, "server_error true slow_down"],
    [
      "openai",
      400,
      { type: "invalid_request_error", message: "Anthropic says: your credit balance is too low." },
      "bad_request false invalid_request_error",
    ],
    ["openai", 503, { code: "server_is_overloaded" }, "server_error true server_is_overloaded"],
    [
      "openai",
      400,
      { type: "invalid_request_error", code: "context_length_exceeded" },
      "bad_request false context_length_exceeded",
    ],
    [
      "openai",
      404,
      { type: "invalid_request_error", code: "model_not_found" },
      "bad_request false model_not_found",
    ],
    ["openai", 200, { code: "server_error" }, "server_error true server_error"],
    ["openai", 200, { code: "rate_limit_exceeded" }, "rate_limit true rate_limit_exceeded"],
    ["openai", 200, { code: "invalid_prompt" }, "bad_request false invalid_prompt"],
    ["openai", 200, { code: "insufficient_quota" }, "auth false insufficient_quota"],
    ["openai", 200, { code: "something_new" }, "unknown - something_new"],
  ],
  Google: [
    ["gemini", 400, { type: "INVALID_ARGUMENT", status: 400 }, "bad_request false INVALID_ARGUMENT"],
    ["gemini", 400, { type: "FAILED_PRECONDITION" }, "bad_request false FAILED_PRECONDITION"],
    ["gemini", 400, { type: "INVALID_ARGUMENT", code: "API_KEY_INVALID" }, "auth false API_KEY_INVALID"],
    ["gemini", 402, { type: "RESOURCE_EXHAUSTED" }, "auth false RESOURCE_EXHAUSTED"],
    ["gemini", 403, { type: "PERMISSION_DENIED" }, "auth false PERMISSION_DENIED"],
    ["gemini", 404, { type: "NOT_FOUND" }, "bad_request false NOT_FOUND"],
    [
      "gemini",
      429,
      { type: "RESOURCE_EXHAUSTED", message: "Quota exceeded, limit: 15. Retry in 7s." },
      "rate_limit true RESOURCE_EXHAUSTED",
    ],
    [
      "gemini",
      429,
      { type: "RESOURCE_EXHAUSTED", message: "Quota exceeded, limit: 0, model: gemini-x" },
      "auth false RESOURCE_EXHAUSTED",
    ],
    [
      "gemini",
      429,
      { type: "RESOURCE_EXHAUSTED", message: "Your prepayment credits are depleted." },
      "auth false RESOURCE_EXHAUSTED",
    ],
    [
      "vertex",
      429,
      { type: "RESOURCE_EXHAUSTED", message: "The project has reached its monthly spend cap." },
      "auth false RESOURCE_EXHAUSTED",
    ],
    [
      "code-assist",
      429,
      { type: "RESOURCE_EXHAUSTED", message: "No billing account is linked." },
      "auth false RESOURCE_EXHAUSTED",
    ],
    ["gemini", 429, { type: "RESOURCE_EXHAUSTED", code: "quota_exceeded" }, "rate_limit true quota_exceeded"],
    ["gemini", 500, { type: "INTERNAL" }, "server_error true INTERNAL"],
    ["gemini", 503, { type: "UNAVAILABLE" }, "server_error true UNAVAILABLE"],
    ["gemini", 504, { type: "DEADLINE_EXCEEDED" }, "timeout true DEADLINE_EXCEEDED"],
    ["gemini", 499, { type: "CANCELLED" }, "network false CANCELLED"],
    ["gemini", 200, { type: "UNAVAILABLE", status: 503 }, "server_error true UNAVAILABLE"],
    ["gemini", 200, { type: "RESOURCE_EXHAUSTED", status: 429 }, "rate_limit true RESOURCE_EXHAUSTED"],
  ],
  "AWS Bedrock": [
    ["bedrock", 429, { type: "ThrottlingException" }, "rate_limit true ThrottlingException"],
    [
      "bedrock",
      400,
      { type: "com.amazon.coral.service#ThrottlingException:http://x" },
      "rate_limit true com.amazon.coral.service#ThrottlingException:http://x",
    ],
    ["bedrock", 200, { type: "throttlingException" }, "rate_limit true throttlingException"],
    ["bedrock", 429, { type: "ModelNotReadyException" }, "rate_limit true ModelNotReadyException"],
    [
      "bedrock",
      503,
      { type: "ServiceUnavailableException" },
      "server_error true ServiceUnavailableException",
    ],
    ["bedrock", 424, { type: "ModelErrorException" }, "server_error true ModelErrorException"],
    ["bedrock", 424, { type: "modelStreamErrorException" }, "server_error true modelStreamErrorException"],
    ["bedrock", 408, { type: "ModelTimeoutException" }, "timeout true ModelTimeoutException"],
    ["bedrock", 500, { type: "InternalServerException" }, "server_error true InternalServerException"],
    ["bedrock", 200, { type: "internalServerException" }, "server_error true internalServerException"],
    ["bedrock", 400, { type: "ValidationException" }, "bad_request false ValidationException"],
    ["bedrock", 200, { type: "validationException" }, "bad_request false validationException"],
    ["bedrock", 403, { type: "AccessDeniedException" }, "auth false AccessDeniedException"],
  ],
  Azure: [
    ["azure", 429, { code: "429" }, "rate_limit true 429"],
    ["azure", 200, { code: "429" }, "rate_limit true 429"],
    ["azure", 200, { code: "4290" }, "unknown - 4290"],
    ["azure", 200, { code: "AADSTS500" }, "unknown - AADSTS500"],
    ["azure", 400, { code: "content_filter" }, "bad_request false content_filter"],
    ["azure", 404, { code: "DeploymentNotFound" }, "bad_request false DeploymentNotFound"],
  ],
  "OpenAI's kin": [
    [
      "xai",
      400,
      { code: "Client specified an invalid argument", message: "Incorrect API key provided" },
      "auth false Client specified an invalid argument",
    ],
    ["xai", 400, { message: "This model does not support effort" }, "bad_request false -"],
    ["fireworks", 412, { message: "Account suspended until its invoice is paid" }, "auth false -"],
    ["fireworks", 412, { message: "Model is not ready" }, "bad_request false -"],
    ["groq", 413, { type: "tokens", code: "rate_limit_exceeded" }, "bad_request false rate_limit_exceeded"],
    ["mistral", 401, { message: "Unauthorized" }, "auth false -"],
    ["mistral", 402, null, "auth false -"],
    ["mistral", 422, { type: "missing" }, "bad_request false missing"],
    ["deepseek", 402, { message: "Insufficient Balance" }, "auth false -"],
    ["deepseek", 503, null, "server_error true -"],
    ["openrouter", 402, { code: "payment_required", status: 402 }, "auth false payment_required"],
    [
      "openrouter",
      402,
      { code: "in_flight_budget_exhausted", status: 402 },
      "rate_limit true in_flight_budget_exhausted",
    ],
    ["openrouter", 402, { code: "weight_exceeds_budget", status: 402 }, "auth false weight_exceeds_budget"],
    ["openrouter", 200, { message: "upstream", status: 502 }, "server_error true -"],
    ["openrouter", 200, { message: "upstream" }, "unknown - -"],
    ["ollama", 404, { message: "model not found" }, "bad_request false -"],
    ["ollama", 200, { message: "an error was encountered while running the model" }, "unknown - -"],
  ],
  "statuses alone": [
    ["any", 400, null, "bad_request false -"],
    ["any", 401, null, "auth false -"],
    ["any", 402, null, "auth false -"],
    ["any", 403, null, "auth false -"],
    ["any", 407, null, "auth false -"],
    ["any", 408, null, "timeout true -"],
    ["any", 409, null, "bad_request true -"],
    ["any", 418, null, "bad_request false -"],
    ["any", 425, null, "bad_request true -"],
    ["any", 429, null, "rate_limit true -"],
    ["any", 498, null, "auth false -"],
    ["any", 499, null, "network false -"],
    ["any", 500, null, "server_error true -"],
    ["any", 501, null, "server_error false -"],
    ["any", 504, null, "timeout true -"],
    ["any", 522, null, "timeout true -"],
    ["any", 524, null, "timeout true -"],
    ["any", 599, null, "server_error true -"],
    ["any", 200, null, "- - -"],
    ["any", 302, null, "- - -"],
  ],
};

for (const [name, table] of Object.entries(rows))
  describe(`classifyError() for ${name}`, () => {
    for (const [provider, status, error, expected] of table)
      it(`returns ${expected} for ${status} ${JSON.stringify(error)}`, () => {
        assert.equal(answered(provider, status, error), expected);
      });
  });

describe("classifyError() for transport failures", () => {
  const table: Record<CallFailure, string> = {
    timeout: "timeout true -",
    network: "network true -",
    aborted: "network false -",
  };
  for (const [reason, expected] of Object.entries(table))
    it(`returns ${expected} for ${reason}`, () => {
      assert.equal(classify("any", { kind: "transport", reason: reason as CallFailure }), expected);
    });

  it("returns no class for a response that the client got and that could not be read", () => {
    assert.equal(classify("any", { kind: "unread" }), "- - -");
  });

  it("classifies a response truncated by the provider as a network failure", () => {
    assert.equal(
      classify("any", { kind: "answered", status: 200, error: null, complete: false }),
      "network true -",
    );
  });
});

describe("classifyError()", () => {
  it("classifies errors found by the usage readers, in a response and after a 200", () => {
    const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    const whole = readAnswer(ADDRESSES.anthropic, overloaded, { status: 529 });
    const event = readAnswer(ADDRESSES.anthropic, sse(JSON.parse(overloaded) as object));
    for (const [status, { error }] of [
      [529, whole],
      [200, event],
    ] as const)
      assert.equal(
        classify("anthropic", { kind: "answered", status, error, complete: true }),
        "server_error true overloaded_error",
      );
  });

  it("returns a class for every outcome that failed, and null otherwise", () => {
    // Planted: no class for a failure that nothing explains.
    const word = fc.option(
      fc.oneof(fc.constantFrom("insufficient_quota", "slow_down", "503", "299", "x", ""), fc.string()),
    );
    fc.assert(
      fc.property(
        fc.constantFrom("anthropic", "gemini", "x"),
        fc.constantFrom(100, 200, 304, 400, 404, 429, 500, 529),
        fc.option(
          fc.record({ type: word, code: word, message: word, status: fc.constantFrom(null, 429, 500) }),
        ),
        fc.boolean(),
        (provider, status, error, complete) => {
          const { errorClass, retryable } = classifyError(provider, {
            kind: "answered",
            status,
            error,
            complete,
          });
          const failed = status >= 400 || error !== null || !complete;
          assert.equal(errorClass !== null, failed);
          assert.equal(retryable === null, errorClass === null || errorClass === "unknown");
          if (errorClass === "auth") assert.equal(retryable, false);
          if (errorClass === "rate_limit" || errorClass === "timeout") assert.equal(retryable, true);
        },
      ),
    );
  });
});

describe("the provider's code", () => {
  const code = (error: Partial<ProviderError>) =>
    answered("openai", 400, error).split(" ").slice(2).join(" ");

  it("is null for a sentence, which may quote the prompt or the key", () => {
    assert.equal(code({ code: "the key sk-proj-123 is wrong", type: "bad_request" }), "bad_request");
    assert.equal(code({ code: "the key sk-proj-123 is wrong", type: "about my diary" }), "-");
    assert.equal(code({ code: "x".repeat(65) }), "-");
    assert.equal(code({ code: "" }), "-");
  });

  it("is a single word, a number, a URL or a known gRPC sentence", () => {
    for (const word of ["429", "RESOURCE_EXHAUSTED", "com.amazon#ThrottlingException", "urn:a:b", "a/b-c"]) {
      assert.equal(code({ code: word }), word);
    }
    assert.equal(code({ code: "Some resource has been exhausted" }), "Some resource has been exhausted");
  });
});
