import type { KeptResponse } from "../store/mod.ts";

/** Knows which responses have a record, so that one that is met again makes no second one. */
export interface ResponseMemory {
  /** The record of a response. Where `handedOutAgain`, also one that was made long ago. */
  find(responseId: string, handedOutAgain: boolean): KeptResponse | null;
  add(responseId: string, response: KeptResponse): void;
}

/** How many responses are known without asking the store. Decision: an hour of a busy machine, about 2 MB. */
export const MAX_REMEMBERED_RESPONSES = 10_000;

/**
 * A shorter id tells no two responses apart, in characters. Decision: providers draw 22 and more; Ollama's imitation of
 * OpenAI draws one of 999 (`chatcmpl-423`).
 */
export const MIN_RESPONSE_ID_LENGTH = 20;

/**
 * Creates the memory. The latest responses are at hand: what is met on two ways at once, what is polled. Before those
 * only responses that their providers hand out again can be met, and the store has an index of them.
 */
export function createResponseMemory(
  findKept: (responseId: string) => KeptResponse | null,
  maxRemembered: number = MAX_REMEMBERED_RESPONSES,
): ResponseMemory {
  const latest = new Map<string, KeptResponse>();
  return {
    find(responseId, handedOutAgain) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return null;
      return latest.get(responseId) ?? (handedOutAgain ? findKept(responseId) : null);
    },
    add(responseId, response) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return;
      latest.set(responseId, response);
      if (latest.size > maxRemembered) latest.delete(latest.keys().next().value as string);
    },
  };
}
