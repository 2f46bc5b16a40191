import type { ApiReader } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { canonicalJson } from "./canonical-json.ts";
import { readFormFields } from "./form-fields.ts";
import { pickMembers, wantMembers } from "./member-picker.ts";
import type { MeteredRoute } from "./route.ts";
import { isObject, membersOf } from "./token-counts.ts";

/** What a request says about itself; null for what it does not say or what cannot be read. */
export interface RequestFacts {
  requestedModel: string | null;
  streaming: boolean | null;
  /** The text whose SHA-256 is `prompt_hash`. It is the prompt: hash it and let go of it. */
  canonicalPrompt: string | null;
  requestedServiceTier: string | null;
  /**
   * The model that the operator lists behind the requested deployment (Azure). It goes before the answered one, which may
   * be generic; null where nothing is listed.
   */
  deployedModel?: string | null;
}

const FORM_FIELDS = ["model", "stream"] as const;

const FACTS = wantMembers(["model", "stream", "service_tier", "serviceTier"]);

/**
 * Reads a request's decoded body. Of a body that is cut or no JSON, what can be seen at its start still counts; its prompt
 * is then not readable. Never throws.
 *
 * The prompt is, by API: Anthropic `{system, messages}`, Chat `{messages}`, Responses `{instructions, input}`, Gemini
 * `{systemInstruction, contents}`, Ollama `{system, prompt | messages}`, embeddings `{input}`; members that are absent are
 * left out. Source: decisions, "Bodies".
 */
export function readRequest(route: MeteredRoute, body: Uint8Array | null): RequestFacts {
  const facts = readBody(route, body);
  if (route.deployments === undefined) return facts;
  // A deployment in the path is the one that is called, whatever the body says.
  const deployment = route.model ?? facts.requestedModel ?? "";
  return { ...facts, deployedModel: route.deployments.get(deployment) ?? null };
}

function readBody(route: MeteredRoute, body: Uint8Array | null): RequestFacts {
  const api: ApiReader = API_READERS[route.api];
  const request = body === null ? undefined : parseStrictly(body);
  if (isObject(request)) {
    const { model, stream, service_tier, serviceTier } = request;
    return {
      requestedModel: nonEmpty(model) ?? route.model,
      streaming: route.streaming ?? (typeof stream === "boolean" ? stream : api.streamsByDefault),
      canonicalPrompt: canonicalPrompt(
        api.promptIn === null ? request : membersOf(request[api.promptIn]),
        api.promptMembers,
      ),
      requestedServiceTier: nonEmpty(service_tier) ?? nonEmpty(serviceTier),
    };
  }
  const form = body === null ? null : readFormFields(body, FORM_FIELDS);
  if (form !== null)
    return {
      requestedModel: form.get("model") ?? route.model,
      streaming: route.streaming ?? form.get("stream") === "true",
      canonicalPrompt: null,
      requestedServiceTier: null,
    };
  const facts = body === null ? null : pickMembers(body, FACTS);
  const stream = facts?.value("stream");
  const unsaid = facts?.closed ? api.streamsByDefault : null;
  return {
    requestedModel: facts?.string("model") ?? route.model,
    streaming: route.streaming ?? (typeof stream === "boolean" ? stream : unsaid),
    canonicalPrompt: null,
    requestedServiceTier: facts?.string("service_tier") ?? facts?.string("serviceTier") ?? null,
  };
}

const nonEmpty = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

function canonicalPrompt(
  request: Readonly<Record<string, unknown>>,
  members: readonly string[],
): string | null {
  const prompt: Record<string, unknown> = {};
  for (const member of members) {
    const value = request[member] ?? request[SNAKE_CASE[member] ?? member];
    if (value !== undefined) prompt[member] = value;
  }
  return Object.keys(prompt).length === 0 ? null : canonicalJson(prompt);
}

/** Google's APIs take the names of proto fields in both spellings. */
const SNAKE_CASE: Readonly<Record<string, string>> = { systemInstruction: "system_instruction" };

/** JSON in valid UTF-8, or undefined. */
function parseStrictly(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
