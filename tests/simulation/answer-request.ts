import type { Millis } from "../../core/values/time.ts";
import { type Answer, noUsage, type ProviderCall, type ProviderName } from "./answer.ts";
import { answerAnthropicMessages, commonHeaders as anthropicHeaders } from "./anthropic-messages.ts";
import { chooseNumbers } from "./chosen-numbers.ts";
import { answerGeminiEmbed, answerOpenAiEmbeddings } from "./embeddings.ts";
import { answerGeminiGenerate } from "./gemini-generate.ts";
import { answerOllama, answerOllamaEmbed } from "./ollama-chat.ts";
import { answerOpenAiChat, commonHeaders as openaiHeaders } from "./openai-chat.ts";
import { answerOpenAiResponses } from "./openai-responses.ts";
import { answerFailure } from "./provider-errors.ts";
import { answerRealtime } from "./realtime-answer.ts";
import type { ReceivedRequest } from "./request-parser.ts";
import { readScenario, type Scenario } from "./scenario.ts";
import { createSeededRandom } from "./seeded-random.ts";
import type { SimulatedApi } from "./simulated-call.ts";

/** A call on a path with usage, and its response. */
export interface MeteredAnswer {
  kind: "metered";
  api: SimulatedApi;
  requestedModel: string | null;
  path: string;
  scenario: Scenario;
  answer: Answer;
}

/** A response without usage: a model list, a free token count, or an unknown path. */
export interface PlainAnswer {
  kind: "plain";
  path: string;
  status: number;
  contentType: string;
  text: string;
}

interface Route {
  api: SimulatedApi;
  /** The model in the path; `null` if the body names it. */
  model: string | null;
  answer(call: ProviderCall): Answer;
}

/** Creates the function that computes the response to a request, without sending it. */
export function createResponder(seed: string, now: () => Millis) {
  const occurrences = new Map<string, number>();
  return function answerRequest(
    provider: ProviderName,
    request: ReceivedRequest,
  ): MeteredAnswer | PlainAnswer {
    const { pathname: path, searchParams: query } = new URL(request.target, "http://simulation.invalid");
    const route = request.method === "POST" ? findRoute(provider, path) : null;
    if (route === null) return answerPlain(provider, request, path);
    const text = request.body.toString("utf8");
    let body: Record<string, unknown>;
    let scenario: Scenario;
    try {
      const parsed: unknown = JSON.parse(text);
      if (typeof parsed !== "object" || parsed === null) throw new TypeError("the body is no JSON object");
      body = parsed as Record<string, unknown>;
      scenario = readScenario(text);
    } catch (error) {
      return plain(path, 400, { error: { message: `simulation: ${String(error)}` } });
    }
    // A repeated request is a new call with new numbers, independent of concurrent calls.
    const requestKey = `${provider} ${path} ${text}`;
    const nth = occurrences.get(requestKey) ?? 0;
    occurrences.set(requestKey, nth + 1);
    if (scenario.once && nth > 0) scenario = { ...scenario, outcome: "ok" };
    const random = createSeededRandom(`${seed} ${nth} ${requestKey}`);
    const call: ProviderCall = {
      provider,
      request,
      path,
      query,
      body,
      scenario,
      numbers: chooseNumbers(random, scenario),
      random,
      nowSeconds: Math.floor(now() / 1_000),
    };
    const requestedModel = route.model ?? (typeof body.model === "string" ? body.model : null);
    const failed = answerFailure(call, null);
    const answer =
      failed === null ? route.answer(call) : { ...failed, headers: failureHeaders(call, failed) };
    return {
      kind: "metered",
      api: route.api,
      requestedModel,
      path,
      scenario,
      answer: scenario.outcome === "nonsense" ? makeMalformed(answer) : answer,
    };
  };
}

function findRoute(provider: ProviderName, path: string): Route | null {
  if (provider === "anthropic") {
    return path === "/v1/messages"
      ? { api: "anthropic.messages", model: null, answer: answerAnthropicMessages }
      : null;
  }
  if (provider === "gemini") {
    const match = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(\w+)$/.exec(path);
    const model = decodeURIComponent(match?.[1] ?? "");
    if (match?.[2] === "generateContent" || match?.[2] === "streamGenerateContent") {
      return { api: "gemini.generate", model, answer: (call) => answerGeminiGenerate(call, model) };
    }
    if (match?.[2] === "embedContent" || match?.[2] === "batchEmbedContents") {
      return { api: "gemini.embed", model, answer: answerGeminiEmbed };
    }
    return null;
  }
  if (provider === "ollama") {
    if (path === "/api/chat") return { api: "ollama.chat", model: null, answer: answerOllama };
    if (path === "/api/generate") return { api: "ollama.generate", model: null, answer: answerOllama };
    if (path === "/api/embed") return { api: "ollama.embed", model: null, answer: answerOllamaEmbed };
  }
  const base = provider === "openrouter" ? "/api/v1" : "/v1";
  switch (path) {
    case `${base}/chat/completions`:
      return { api: "openai.chat", model: null, answer: answerOpenAiChat };
    case `${base}/responses`:
      return { api: "openai.responses", model: null, answer: answerOpenAiResponses };
    // A session calls this for each of its responses.
    case `${base}/realtime`:
      return { api: "openai.realtime", model: null, answer: answerRealtime };
    case `${base}/embeddings`:
      return { api: "openai.embeddings", model: null, answer: answerOpenAiEmbeddings };
    default:
      return null;
  }
}

function failureHeaders(call: ProviderCall, failed: Answer): Answer["headers"] {
  if (call.provider === "anthropic") return [...failed.headers, ...anthropicHeaders(call)];
  if (call.provider === "gemini" || call.provider === "ollama") return failed.headers;
  return [...failed.headers, ...openaiHeaders(call)];
}

function makeMalformed(answer: Answer): Answer {
  return {
    ...answer,
    parts: [{ text: '<!doctype html><p>data: {"usage":{"input_tokens":-1,"output_', stated: noUsage }],
    model: null,
    responseId: null,
    serviceTier: null,
    extras: {},
  };
}

function answerPlain(provider: ProviderName, request: ReceivedRequest, path: string): PlainAnswer {
  if (request.method === "POST" && path === "/v1/messages/count_tokens") {
    return plain(path, 200, { input_tokens: 2_095 });
  }
  if (request.method === "POST" && path.endsWith(":countTokens")) {
    return plain(path, 200, { totalTokens: 31, promptTokensDetails: [{ modality: "TEXT", tokenCount: 31 }] });
  }
  if (request.method === "GET" && /\/models$/.test(path)) {
    return plain(
      path,
      200,
      provider === "gemini"
        ? { models: [{ name: "models/gemini-2.5-flash" }] }
        : { object: "list", data: [] },
    );
  }
  return plain(path, 404, { error: { type: "not_found_error", message: `simulation: nothing at ${path}` } });
}

function plain(path: string, status: number, body: unknown): PlainAnswer {
  return { kind: "plain", path, status, contentType: "application/json", text: JSON.stringify(body) };
}
