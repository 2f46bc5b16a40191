import type { ErrorClass, TokenCounts } from "../../core/record.ts";
import type { ChosenNumbers } from "./chosen-numbers.ts";
import type { ReceivedRequest } from "./request-parser.ts";
import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type ProviderName = "anthropic" | "openai" | "gemini" | "xai" | "openrouter" | "ollama";

/** What the provider has told about usage so far, in our disjoint counts. */
export interface Stated {
  tokens: TokenCounts;
  tokensComplete: boolean;
  providerCostPicoUsd: bigint | null;
}

/** The error that the provider told, and the class that the contract gives it. */
export interface StatedError {
  type: string | null;
  code: string | null;
  message: string;
  errorClass: ErrorClass;
  retryable: boolean;
}

/** One piece of a body that is written at once; `stated` holds from here on until a later part says more. */
export interface AnswerPart {
  text: string;
  stated?: Stated;
}

/** A provider's answer before it is encoded and framed. */
export interface Answer {
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  parts: readonly AnswerPart[];
  streaming: boolean;
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  /** Counts besides tokens that change the price. */
  extras: Readonly<Record<string, number>>;
  error: StatedError | null;
}

/** One call on a known path, with all that a dialect needs for its answer. */
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

/** Nothing stated: the provider sent no usage, or none yet. */
export const nothingStated: Stated = {
  tokens: {
    promptTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    cacheWrite1hTokens: null,
    completionTokens: null,
    thinkingTokens: null,
  },
  tokensComplete: false,
  providerCostPicoUsd: null,
};

/** Stated counts where what is not named was not stated. */
export function stated(
  tokens: Partial<TokenCounts>,
  complete = true,
  costPicoUsd: bigint | null = null,
): Stated {
  return {
    tokens: { ...nothingStated.tokens, ...tokens },
    tokensComplete: complete,
    providerCostPicoUsd: costPicoUsd,
  };
}

/** One event in the way of server-sent events, as compact JSON. */
export function sseEvent(event: string | null, data: unknown): string {
  return `${event === null ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A text field of the request, else the fallback. */
export function textField(body: Readonly<Record<string, unknown>>, name: string, fallback: string): string {
  const value = body[name];
  return typeof value === "string" ? value : fallback;
}

const vocabulary =
  "tokens cost what they cost and the meter counts each one of them once, naïve or not — ¥€ 🧮".split(" ");

/** The visible text of an answer in as many pieces as it has content events. */
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

/** The model as the provider answers it: the dated snapshot behind an alias. */
export function answeredModel(requested: string): string {
  return snapshots[requested] ?? requested;
}
