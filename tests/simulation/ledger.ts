import type { ProviderName, Stated, StatedError } from "./answer.ts";
import type { Scenario } from "./scenario.ts";

/** The paths that carry usage, named as our records name their readers. */
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

/** How an answer ended, as the provider saw it. */
export type Delivery = "whole" | "cut" | "client_gone";

/**
 * What a provider would have in its books for one call on a metered path. `stated` holds what it had told by the
 * last byte that it wrote, in our disjoint counts; it is made from the chosen numbers, not read from the answer. Model,
 * tier and id are those of the whole answer: of a cut one they may not have been told.
 */
export interface LedgerEntry extends Stated {
  /** Counts up over the whole simulation, in the order in which requests were complete. */
  ordinal: number;
  /** The index in `connections`. */
  connection: number;
  provider: ProviderName;
  host: string;
  method: string;
  path: string;
  api: SimulatedApi;
  /** As the answer names it; `null` where it names none. */
  model: string | null;
  requestedModel: string | null;
  streaming: boolean;
  scenario: Scenario;
  /** `null` where no answer was given. */
  status: number | null;
  serviceTier: string | null;
  extras: Readonly<Record<string, number>>;
  error: StatedError | null;
  responseId: string | null;
  delivery: Delivery;
  requestHeaders: readonly (readonly [name: string, value: string])[];
  requestBody: Buffer;
  contentEncoding: string | null;
  /** The response body as written, without its framing: before content encoding … */
  responsePlain: Buffer;
  /** … and after it. */
  responseEncoded: Buffer;
}

/** A request on a provider's host that carries no usage, or on a path that nobody knows. */
export interface OtherRequest {
  connection: number;
  host: string;
  method: string;
  path: string;
  status: number;
}
