import { NO_TOKENS } from "../../core/metering/usage/token-counts.ts";
import type { ErrorClass, TokenCounts } from "../../core/values/record.ts";
import type { ChosenNumbers } from "./chosen-numbers.ts";
import type { ReceivedRequest } from "./request-parser.ts";
import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type ProviderName = "anthropic" | "openai" | "gemini" | "xai" | "openrouter" | "ollama";

/** The usage that the provider has stated so far, as disjoint counts. */
export interface StatedUsage {
  tokens: TokenCounts;
  tokensComplete: boolean;
  providerCostPicoUsd: bigint | null;
}

/** The error that the provider stated, and its class according to the specification. */
export interface StatedError {
  type: string | null;
  code: string | null;
  message: string;
  errorClass: ErrorClass;
  retryable: boolean;
}

/** A part of a body that is written in one piece. `stated` is the usage stated up to and including this part. */
export interface AnswerPart {
  text: string;
  stated?: StatedUsage;
}

/** A provider's response before it is encoded and framed. */
export interface Answer {
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  parts: readonly AnswerPart[];
  streaming: boolean;
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** Counts that affect the price in addition to the token counts. */
  extras: Readonly<Record<string, number>>;
  error: StatedError | null;
}

/** A call on a known path, with everything an API needs to respond. */
export interface ProviderCall {
  provider: ProviderName;
  request: ReceivedRequest;
  path: string;
  query: URLSearchParams;
  body: Readonly<Record<string, unknown>>;
  scenario: Scenario;
  numbers: ChosenNumbers;
  random: SeededRandom;
  /** Seconds since the epoch. */
  nowSeconds: number;
}

/** No usage: the provider has not stated any yet. */
export const noUsage: StatedUsage = {
  tokens: NO_TOKENS,
  tokensComplete: false,
  providerCostPicoUsd: null,
};

/** Returns a stated usage. Counts that are not given are null. */
export function stated(
  tokens: Partial<TokenCounts>,
  complete = true,
  costPicoUsd: bigint | null = null,
): StatedUsage {
  return {
    tokens: { ...noUsage.tokens, ...tokens },
    tokensComplete: complete,
    providerCostPicoUsd: costPicoUsd,
  };
}

/** Formats a server-sent event with compact JSON. */
export function sseEvent(event: string | null, data: unknown): string {
  return `${event === null ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Returns a text field of the request, or the fallback. */
export function textField(body: Readonly<Record<string, unknown>>, name: string, fallback: string): string {
  const value = body[name];
  return typeof value === "string" ? value : fallback;
}

const vocabulary =
  "tokens cost what they cost and the meter counts each one of them once, naïve or not — ¥€ 🧮".split(" ");

/** Returns the visible text of a response, one piece per content event. */
export function chooseText(call: ProviderCall): string[] {
  const count = call.scenario.events ?? call.random.integer(4, 12);
  return Array.from({ length: count }, () => `${call.random.pick(vocabulary)} `);
}

const snapshots: Readonly<Record<string, string>> = {
  "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
  "claude-opus-4-5": "claude-opus-4-5-20251101",
  "claude-haiku-4-5": "claude-haiku-4-5-20251001",
  "gpt-5": "gpt-5-2025-08-07",
  "gpt-5-mini": "gpt-5-mini-2025-08-07",
  "gpt-4o": "gpt-4o-2024-08-06",
  "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
  "gpt-4.1": "gpt-4.1-2025-04-14",
};

/** Returns the model named in the response: the dated snapshot of an alias. */
export function answeredModel(requested: string): string {
  return snapshots[requested] ?? requested;
}
