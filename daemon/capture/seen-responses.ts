import type { StoredResponse } from "../store/port/records.ts";

/** Finds the records of responses that passed before, so that a repeated response makes no second record. */
export interface SeenResponses {
  /** Finds the record of a response. With `isRefetch`, also searches the store. */
  find(responseId: string, isRefetch: boolean): StoredResponse | null;
  add(responseId: string, requestId: string, tokensComplete: boolean): void;
}

/**
 * How many of the latest responses are remembered at least, and half of how many at most. Decision: repeats arrive within
 * seconds, on two connections at once or by polling. By then older responses are in the store.
 */
const MIN_SEEN_RESPONSES = 1_000;

/**
 * The minimum length of a unique response ID, in characters. Shorter IDs are ignored. Decision: providers use random IDs of
 * 22 characters and more, but Ollama's OpenAI API has only 999 different ones (`chatcmpl-423`).
 */
const MIN_RESPONSE_ID_LENGTH = 20;

/**
 * Creates the memory of the latest responses. Older ones can only repeat if their provider returns them again, and the store
 * has an index of those.
 */
export function createSeenResponses(
  findStored: (responseId: string) => StoredResponse | null,
  generationSize: number = MIN_SEEN_RESPONSES,
): SeenResponses {
  // Two generations, because removing the oldest entries of one map one by one would be slow. To save memory, a complete
  // response, as most are, is stored as its request ID only.
  let latest = new Map<string, string | StoredResponse>();
  let earlier: typeof latest = new Map();
  return {
    find(responseId, isRefetch) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return null;
      const known = latest.get(responseId) ?? earlier.get(responseId);
      if (typeof known === "string") return { requestId: known, tokensComplete: true };
      return known ?? (isRefetch ? findStored(responseId) : null);
    },
    add(responseId, requestId, tokensComplete) {
      if (responseId.length < MIN_RESPONSE_ID_LENGTH) return;
      if (latest.size === generationSize) {
        earlier = latest;
        latest = new Map();
      }
      latest.set(responseId, tokensComplete ? requestId : { requestId, tokensComplete });
    },
  };
}
