import type { ProviderName, StatedError, StatedUsage } from "./answer.ts";
import type { Scenario } from "./scenario.ts";

/** The simulated APIs with usage, by the API ids in records. */
export type SimulatedApi =
  | "anthropic.messages"
  | "openai.chat"
  | "openai.responses"
  | "openai.embeddings"
  | "openai.realtime"
  | "gemini.generate"
  | "gemini.embed"
  | "ollama.chat"
  | "ollama.generate"
  | "ollama.embed";

/** How a response ended, as seen by the provider. */
export type Delivery = "whole" | "cut" | "client_gone";

/**
 * One call on a path with usage. The usage is what the provider had stated by the last byte it wrote, as disjoint counts. It
 * is computed from the chosen numbers and not parsed from the response. Model, tier and id are those of the complete
 * response; a truncated response may not contain them.
 */
export interface SimulatedCall extends StatedUsage {
  /** The number of the call in the simulation, in the order in which requests were complete. */
  ordinal: number;
  /** The index in `connections`. */
  connection: number;
  provider: ProviderName;
  host: string;
  method: string;
  path: string;
  api: SimulatedApi;
  /** The model named in the response; `null` if it names none. */
  model: string | null;
  requestedModel: string | null;
  streaming: boolean;
  scenario: Scenario;
  /** `null` if there was no response. */
  status: number | null;
  serviceTier: string | null;
  extras: Readonly<Record<string, number>>;
  error: StatedError | null;
  responseId: string | null;
  delivery: Delivery;
  requestHeaders: readonly (readonly [name: string, value: string])[];
  requestBody: Buffer;
  contentEncoding: string | null;
  /** The response body as written, without its framing and before content encoding. */
  responsePlain: Buffer;
  /** The response body as written, without its framing and after content encoding. */
  responseEncoded: Buffer;
}

/** A request to a provider's host on a path without usage, or on an unknown path. */
export interface OtherRequest {
  connection: number;
  host: string;
  method: string;
  path: string;
  status: number;
}
