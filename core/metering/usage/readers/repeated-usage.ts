import { defineApiReader } from "../api-reader.ts";
import { NO_TOKENS } from "../token-counts.ts";

/**
 * Responses that state the usage of calls that were metered when they were made, such as stored completions, statistics
 * about past generations, and the running totals of a session. They make no record.
 */
export const repeatedUsage = defineApiReader({
  members: [],
  keys: ["usage"],
  promptMembers: [],
  start: () => ({
    read() {},
    end: () => ({
      tokens: NO_TOKENS,
      tokensComplete: false,
      model: null,
      responseId: null,
      serviceTier: null,
      extras: {},
      providerCostPicoUsd: null,
      unknownUsage: null,
      noRecord: "not_new",
    }),
  }),
});
