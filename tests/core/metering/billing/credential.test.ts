import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CredentialKind, readCredentialKind } from "../../../../core/metering/billing/credential.ts";

describe("readCredentialKind()", () => {
  const table: [header: [name: string, value: string] | null, target: string, kind: CredentialKind][] = [
    [["X-Api-Key", "sk-ant-api03-abc"], "/v1/messages", "api_key"],
    [["authorization", "Bearer sk-ant-oat01-abc"], "/v1/messages", "claude_login"],
    [["x-api-key", "sk-ant-oat01-abc"], "/v1/messages", "claude_login"],
    [["Authorization", "Bearer sk-proj-abc"], "/v1/responses", "api_key"],
    [["Authorization", "bearer  eyJhbGciOi.eyJhdWQi.c2ln"], "/v1/responses", "token"],
    [["Authorization", "Bearer ya29.a0Af"], "/v1/projects/p", "token"],
    [["api-key", "0123456789abcdef"], "/openai/deployments/d", "api_key"],
    [["x-goog-api-key", "AIzaSyA"], "/v1beta/models", "api_key"],
    [null, "/v1beta/models/m:generateContent?alt=sse&key=AIzaSyA", "api_key"],
    [
      ["Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20261123/us-east-1"],
      "/model/m/invoke",
      "signature",
    ],
    [null, "/model/m/invoke?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=ab", "signature"],
    [["Ocp-Apim-Subscription-Key", "0123456789abcdef"], "/openai/deployments/d", "api_key"],
    [["cf-aig-authorization", "Bearer abc"], "/v1/a/g/openai/responses", "api_key"],
    [
      ["Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.ek_abc, openai-beta.realtime-v1"],
      "/v1/realtime?model=gpt-realtime",
      "api_key",
    ],
    [["sec-websocket-protocol", "xai-client-secret.abc"], "/v1/realtime", "api_key"],
    [["Sec-WebSocket-Protocol", "token, 0123456789abcdef"], "/v1/listen", "api_key"],
    [["Sec-WebSocket-Protocol", "realtime"], "/v1/realtime?model=gpt-realtime", "none"],
    [null, "/ws/google.ai.generativelanguage.v1alpha?access_token=auth_tokens/a", "api_key"],
    [null, "/v3/ws?sample_rate=16000&token=abc", "api_key"],
    [["x-api-key", ""], "/v1/messages", "none"],
    [["Authorization", "Bearer"], "/v1/messages", "none"],
    [null, "/v1/messages?monkey=1", "none"],
    [null, "/v1/messages?key=", "none"],
  ];
  for (const [header, target, kind] of table)
    it(`returns ${kind} for ${header?.join(": ") ?? target}`, () =>
      assert.equal(readCredentialKind(header === null ? [] : [header], target), kind));
});
