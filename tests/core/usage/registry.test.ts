import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRegistry, type RouteMatch } from "../../../core/usage/mod.ts";

const registry = createRegistry();

/** `METHOD url` → `provider api kind [model] [streaming]`, or what else the match is. */
function spell(match: RouteMatch): string {
  if (match.kind === "not_provider") return match.kind;
  if (match.kind !== "metered") return `${match.provider} ${match.kind}`;
  const { provider, api, requestKind, model, streaming } = match;
  return [
    provider,
    api,
    requestKind,
    ...(model === null ? [] : [model]),
    ...(streaming === null ? [] : [streaming]),
  ].join(" ");
}

function matchUrl(request: string, from = registry): string {
  const [method = "", url = ""] = request.split(" ");
  const { protocol, hostname, port } = new URL(url);
  const path = url.slice(url.indexOf("/", protocol.length + 2));
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  return spell(from.match({ host: hostname, port: number, method, path }));
}

const table: Record<string, string> = {
  "POST https://api.anthropic.com/v1/messages": "anthropic anthropic.messages chat",
  "POST https://api.anthropic.com/v1/messages?beta=true": "anthropic anthropic.messages chat",
  "POST https://API.Anthropic.com//v1/messages/": "anthropic anthropic.messages chat",
  "POST https://api.anthropic.com/v1/messages/count_tokens?beta=true": "anthropic free",
  "POST https://api.anthropic.com/v1/messages/batches": "anthropic unknown_path",
  "POST https://api.anthropic.com/v1/complete": "anthropic unknown_path",
  "GET https://api.anthropic.com/v1/messages": "anthropic unknown_path",
  "OPTIONS https://api.anthropic.com/v1/messages": "anthropic free",
  "HEAD https://api.anthropic.com/": "anthropic free",
  "GET https://api.anthropic.com/v1/models?limit=5": "anthropic free",
  "POST https://api.anthropic.com/api/event_logging/batch": "anthropic free",
  "POST https://api.anthropic.com/v1/chat/completions": "anthropic openai.chat chat",
  "POST https://api.openai.com/v1/chat/completions": "openai openai.chat chat",
  "GET https://api.openai.com/v1/chat/completions/chatcmpl-1": "openai free",
  "POST https://eu.api.openai.com/v1/responses": "openai openai.responses chat",
  "POST https://api.openai.com/v1/responses/compact": "openai openai.responses chat",
  "POST https://api.openai.com/v1/responses/input_tokens": "openai free",
  "GET https://api.openai.com/v1/responses/resp_1": "openai unknown_path",
  "GET https://api.openai.com/v1/responses/resp_1/input_items": "openai free",
  "GET https://api.openai.com/v1/responses": "openai unknown_path",
  "POST https://api.openai.com/v1/completions": "openai openai.completions chat",
  "POST https://api.openai.com/v1/embeddings": "openai openai.embeddings embedding",
  "GET https://api.openai.com/v1/models": "openai free",
  "POST https://api.openai.com/v1/images/generations": "openai unknown_path",
  "POST https://api.openai.com/chat/completions": "openai unknown_path",
  "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent":
    "gemini gemini.generate chat gemini-x false",
  "POST https://generativelanguage.googleapis.com/v1/models/gemini-x:streamGenerateContent?alt=sse":
    "gemini gemini.generate chat gemini-x true",
  "POST https://generativelanguage.googleapis.com/v1beta/tunedModels/mine%20own:generateContent":
    "gemini gemini.generate chat mine own false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/bad%ZZ:generateContent":
    "gemini gemini.generate chat bad%ZZ false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:embedContent":
    "gemini gemini.embed embedding e false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:batchEmbedContents":
    "gemini gemini.embed embedding e false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:countTokens": "gemini free",
  "GET https://generativelanguage.googleapis.com/v1beta/models": "gemini free",
  "POST https://generativelanguage.googleapis.com/v1beta/models/imagen:predict": "gemini unknown_path",
  "POST https://generativelanguage.googleapis.com/upload/v1beta/files": "gemini free",
  "POST https://generativelanguage.googleapis.com/v1beta/openai/chat/completions": "gemini openai.chat chat",
  "POST https://play.googleapis.com/log": "not_provider",
  "POST https://api.x.ai/v1/chat/completions": "xai openai.chat chat",
  "POST https://us-east-1.api.x.ai/v1/responses": "xai openai.responses chat",
  "POST https://api.x.ai/v1/messages": "xai anthropic.messages chat",
  "GET https://api.x.ai/v1/api-key": "xai free",
  "POST https://openrouter.ai/api/v1/chat/completions": "openrouter openai.chat chat",
  "POST https://openrouter.ai/api/v1/responses": "openrouter openai.responses chat",
  "POST https://openrouter.ai/api/v1/messages": "openrouter anthropic.messages chat",
  "GET https://openrouter.ai/api/v1/generation?id=gen-1": "openrouter free",
  "GET https://openrouter.ai/models": "openrouter free",
  "POST https://openrouter.ai/api/v2/magic": "openrouter unknown_path",
  "POST http://localhost:11434/api/chat": "ollama ollama.chat chat",
  "POST http://127.0.0.1:11434/api/generate": "ollama ollama.generate chat",
  "POST http://[::1]:11434/api/embed": "ollama ollama.embed embedding false",
  "POST http://localhost:11434/v1/chat/completions": "ollama openai.chat chat",
  "POST http://localhost:11434/v1/messages": "ollama anthropic.messages chat",
  "GET http://localhost:11434/": "ollama free",
  "GET http://localhost:11434/api/tags": "ollama free",
  "POST http://localhost:8080/api/chat": "not_provider",
  "POST https://ollama.com/api/chat": "ollama ollama.chat chat",
  "GET https://ollama.com/library": "ollama free",
  "POST https://api.groq.com/openai/v1/chat/completions": "groq openai.chat chat",
  "POST https://api.mistral.ai/v1/chat/completions": "mistral openai.chat chat",
  "POST https://codestral.mistral.ai/v1/fim/completions": "mistral openai.completions chat",
  "POST https://api.mistral.ai/v1/agents/completions": "mistral openai.chat chat",
  "POST https://api.deepseek.com/chat/completions": "deepseek openai.chat chat",
  "POST https://api.deepseek.com/v1/chat/completions": "deepseek openai.chat chat",
  "POST https://api.deepseek.com/anthropic/v1/messages": "deepseek anthropic.messages chat",
  "GET https://api.deepseek.com/user/balance": "deepseek free",
  "POST https://api.together.xyz/v1/chat/completions": "together openai.chat chat",
  "POST https://api.fireworks.ai/inference/v1/chat/completions": "fireworks openai.chat chat",
  "POST https://api.perplexity.ai/chat/completions": "perplexity openai.chat chat",
  "POST https://api.perplexity.ai/v1/responses": "perplexity openai.responses chat",
  "POST https://api.cerebras.ai/v1/chat/completions": "cerebras openai.chat chat",
  "POST https://api.cohere.ai/compatibility/v1/embeddings": "cohere openai.embeddings embedding",
  "POST https://api.cohere.com/v2/chat": "cohere unknown_path",
  "POST https://api.openai.com.evil.test/v1/chat/completions": "not_provider",
  "POST https://xapi.openai.com/v1/chat/completions": "not_provider",
  "POST https://.api.openai.com/v1/chat/completions": "not_provider",
  "POST https://api.openai.com:8443/v1/chat/completions": "not_provider",
};

describe("createRegistry()", () => {
  for (const [request, expected] of Object.entries(table))
    it(`matches ${request}`, () => {
      if (request.includes("//.api")) {
        assert.equal(
          spell(
            registry.match({ host: ".api.openai.com", port: 443, method: "POST", path: "/v1/responses" }),
          ),
          expected,
        );
        return;
      }
      assert.equal(matchUrl(request), expected);
    });

  it("knows hosts in any spelling", () => {
    assert.equal(registry.isProviderHost("API.OPENAI.COM.", 443), true);
    assert.equal(registry.isProviderHost("[::1]", 11434), true);
    assert.equal(registry.isProviderHost("api.openai.com", 80), false);
    assert.equal(registry.isProviderHost("example.com", 443), false);
  });

  it("ignores a fragment and a query without a path of its own", () => {
    assert.equal(
      spell(registry.match({ host: "openrouter.ai", port: 443, method: "GET", path: "/?a" })),
      "openrouter free",
    );
    assert.equal(
      spell(registry.match({ host: "api.openai.com", port: 443, method: "POST", path: "/v1/embeddings#x" })),
      "openai openai.embeddings embedding",
    );
  });

  it("takes the operator's hosts, on any port or one, by name or suffix", () => {
    const own = createRegistry([
      { host: "llm.corp.test", provider: "litellm", api: "openai" },
      { host: "*.models.corp.test", port: 8443, provider: "corp", api: "anthropic" },
      { host: "gpu-box", port: 11434, provider: "ollama", api: "ollama" },
      { host: "g.corp.test", provider: "corp", api: "gemini" },
      { host: "api.openai.com", port: 443, provider: "wrapped", api: "openai" },
    ]);
    assert.equal(matchUrl("POST https://llm.corp.test/v1/chat/completions", own), "litellm openai.chat chat");
    assert.equal(
      matchUrl("POST http://llm.corp.test:4000/team/a/v1/chat/completions", own),
      "litellm openai.chat chat",
    );
    assert.equal(
      matchUrl("POST http://llm.corp.test:4000/chat/completions", own),
      "litellm openai.chat chat",
    );
    assert.equal(matchUrl("POST https://llm.corp.test/nothing", own), "litellm unknown_path");
    assert.equal(
      matchUrl("POST https://a.models.corp.test:8443/v1/messages", own),
      "corp anthropic.messages chat",
    );
    assert.equal(matchUrl("POST https://a.models.corp.test/v1/messages", own), "not_provider");
    assert.equal(matchUrl("POST http://gpu-box:11434/api/chat", own), "ollama ollama.chat chat");
    assert.equal(
      matchUrl("POST https://g.corp.test/v1beta/models/m:generateContent", own),
      "corp gemini.generate chat m false",
    );
    assert.equal(
      matchUrl("POST https://api.openai.com/v1/embeddings", own),
      "wrapped openai.embeddings embedding",
    );
    assert.deepEqual(own.hosts.slice(-4), ["llm.corp.test", "*.models.corp.test", "gpu-box", "g.corp.test"]);
  });

  it("lists each TLS host once and no loopback one", () => {
    assert.equal(new Set(registry.hosts).size, registry.hosts.length);
    assert.ok(registry.hosts.includes("api.anthropic.com") && registry.hosts.includes("*.api.openai.com"));
    assert.ok(!registry.hosts.includes("localhost"));
  });

  it("leads gateway prefixes to provider origins", () => {
    assert.deepEqual(
      [...registry.gatewayPrefixes].map(
        ([prefix, { scheme, host, port, basePath }]) => `/${prefix} ${scheme}://${host}:${port}${basePath}`,
      ),
      [
        "/anthropic https://api.anthropic.com:443",
        "/openai https://api.openai.com:443",
        "/gemini https://generativelanguage.googleapis.com:443",
        "/xai https://api.x.ai:443",
        "/openrouter https://openrouter.ai:443",
        "/ollama http://localhost:11434",
        "/ollama-cloud https://ollama.com:443",
        "/groq https://api.groq.com:443",
        "/mistral https://api.mistral.ai:443",
        "/deepseek https://api.deepseek.com:443",
        "/together https://api.together.xyz:443",
        "/fireworks https://api.fireworks.ai:443",
        "/perplexity https://api.perplexity.ai:443",
        "/cerebras https://api.cerebras.ai:443",
        "/cohere https://api.cohere.ai:443",
      ],
    );
    for (const { host, port } of registry.gatewayPrefixes.values())
      assert.ok(registry.isProviderHost(host, port));
  });
});
