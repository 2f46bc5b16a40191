import type { KeptResponse } from "../store/mod.ts";

/** Knows which responses have a record, so that one that is met again makes no second one. */
export interface ResponseMemory {
  /** The record of a response. Where `handedOutAgain`, also one that was made long ago. */
  find(responseId: string, handedOutAgain: boolean): KeptResponse | null;
  add(responseId: string, requestId: string, tokensComplete: boolean): void;
}

/**
 * At least so many of the latest responses are known without asking the store, and at most twice as many. Decision: the
 * same response passes on two ways within seconds, and what is polled is in the store a moment later.
 */
export const REMEMBERED_RESPONSES = 1_000;

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
  remembered: number = REMEMBERED_RESPONSES,
): ResponseMemory {
  // Two generations: taking the oldest out of one map, one by one, would cost more than all the rest. A complete
  // response is its request's id alone, since nearly all are.
  let latest = new Map<string, string | KeptResponse>();
  let earlier: typeof latest = new Map();
  return {
    find(responseId, handedOutAgain) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return null;
      const known = latest.get(responseId) ?? earlier.get(responseId);
      if (typeof known === "string") return { requestId: known, tokensComplete: true };
      return known ?? (handedOutAgain ? findKept(responseId) : null);
    },
    add(responseId, requestId, tokensComplete) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return;
      if (latest.size === remembered) {
        earlier = latest;
        latest = new Map();
      }
      latest.set(responseId, tokensComplete ? requestId : { requestId, tokensComplete });
    },
  };
}
