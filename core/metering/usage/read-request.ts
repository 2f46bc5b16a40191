import { isObject } from "../../values/json-object.ts";
import {
  pickStatedMembers,
  readStatedMembers,
  STATED_MEMBERS,
  type StatedMembers,
} from "../sessions/stated-members.ts";
import type { ApiReader } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { canonicalJson } from "./canonical-json.ts";
import { readFormFields } from "./form-fields.ts";
import { compileMemberPaths, createMemberPicker, type PickedMembers, pickMembers } from "./member-picker.ts";
import type { MeteredRoute } from "./route.ts";
import { asObject } from "./token-counts.ts";

/** Facts read from a request. A fact is null if it is absent or unreadable. */
export interface RequestFacts {
  requestedModel: string | null;
  streaming: boolean | null;
  /** The text whose SHA-256 is `prompt_hash`. It contains the prompt: hash it, then discard it. */
  canonicalPrompt: string | null;
  requestedServiceTier: string | null;
  /**
   * The model that the operator configured for the requested Azure deployment; null if none is configured. It takes precedence
   * over the model in the response, which may be generic.
   */
  deployedModel?: string | null;
  /** The members that can identify the session: see `readCallIdentity()`. Absent if there are none. */
  stated?: StatedMembers;
}

const FORM_FIELDS = ["model", "stream"] as const;

const FACTS = compileMemberPaths(["model", "stream", "service_tier", "serviceTier", ...STATED_MEMBERS]);

/**
 * Reads facts from a decoded request body. If the body is truncated or not JSON, the facts at its start are still read, but
 * not the prompt. Never throws.
 *
 * The prompt is, by API: Anthropic `{system, messages}`, Chat `{messages}`, Responses `{instructions, input}`, Gemini
 * `{systemInstruction, contents}`, Ollama `{system, prompt | messages}`, embeddings `{input}`. Absent members are omitted.
 * Source: docs/specification.md#bodies.
 */
export function readRequest(route: MeteredRoute, body: Uint8Array | null): RequestFacts {
  return withDeployment(route, readBody(route, body));
}

/** Reads facts from a request while it is relayed, without buffering it. The prompt is not read. */
export interface RequestFactsReader {
  /** Reads decoded bytes, split anywhere. */
  push(bytes: Uint8Array): void;
  end(): RequestFacts;
}

/** Creates a reader of a JSON body. For any other body, the facts come from the route only. */
export function createRequestFactsReader(route: MeteredRoute): RequestFactsReader {
  const picker = createMemberPicker(FACTS);
  return { push: picker.push, end: () => withDeployment(route, factsFromMembers(route, picker.end())) };
}

function withDeployment(route: MeteredRoute, facts: RequestFacts): RequestFacts {
  if (route.deployments === undefined) return facts;
  // A deployment in the path takes precedence over the body.
  const deployment = route.model ?? facts.requestedModel ?? "";
  return { ...facts, deployedModel: route.deployments.get(deployment) ?? null };
}

function readBody(route: MeteredRoute, body: Uint8Array | null): RequestFacts {
  const api: ApiReader = API_READERS[route.api];
  const request = body === null ? undefined : parseStrictly(body);
  if (isObject(request)) {
    const { model, stream, service_tier, serviceTier } = request;
    const stated = readStatedMembers(request);
    return {
      requestedModel: nonEmpty(model) ?? route.model,
      streaming: route.streaming ?? (typeof stream === "boolean" ? stream : api.streamsByDefault),
      canonicalPrompt: canonicalPrompt(
        api.promptContainer === null ? request : asObject(request[api.promptContainer]),
        api.promptMembers,
      ),
      requestedServiceTier: nonEmpty(service_tier) ?? nonEmpty(serviceTier),
      ...(stated !== null && { stated }),
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
  return factsFromMembers(route, body === null ? null : pickMembers(body, FACTS));
}

/** Returns the facts in picked members; `facts` is null if the body was not seen. */
function factsFromMembers(route: MeteredRoute, facts: PickedMembers | null): RequestFacts {
  const stream = facts?.value("stream");
  const defaultStreaming = facts?.closed ? API_READERS[route.api].streamsByDefault : null;
  const stated = facts === null ? null : pickStatedMembers(facts.string);
  return {
    requestedModel: facts?.string("model") ?? route.model,
    streaming: route.streaming ?? (typeof stream === "boolean" ? stream : defaultStreaming),
    canonicalPrompt: null,
    requestedServiceTier: facts?.string("service_tier") ?? facts?.string("serviceTier") ?? null,
    ...(stated !== null && { stated }),
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

/** Google's APIs accept proto field names in camel case and snake case. */
const SNAKE_CASE: Readonly<Record<string, string>> = { systemInstruction: "system_instruction" };

/** Parses JSON in well-formed UTF-8. Returns undefined for anything else. */
function parseStrictly(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
