import { type AnswerFacts, type ApiReader, NO_HEADER } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { pickMembers } from "./member-picker.ts";
import { readProviderError } from "./provider-error.ts";
import type { MeteredRoute } from "./route.ts";
import { MAX_MESSAGE_BYTES } from "./usage-reader.ts";
import type { UsageReport } from "./usage-report.ts";

/** Reads the usage out of what a provider sends over one WebSocket. */
export interface MessageUsageReader {
  /**
   * Takes one whole text message of the provider's, inflated. Gives the report of the answer that the message ends, or
   * null: most messages end none.
   */
  read(message: Uint8Array): UsageReport | null;
}

/**
 * Creates the reader of one WebSocket's messages, in the order in which they come. One connection carries many answers,
 * each of which makes a record. It never throws, and keeps of the messages what a record needs alone; a message that is
 * longer than `MAX_MESSAGE_BYTES` is passed over.
 */
export function createMessageUsageReader(route: MeteredRoute): MessageUsageReader {
  const api: ApiReader = API_READERS[route.api];
  const facts: AnswerFacts = {
    provider: route.provider,
    routeModel: route.model,
    fetches: false,
    header: NO_HEADER,
  };
  let messages = api.start(facts);
  return {
    read(message) {
      if (message.length > MAX_MESSAGE_BYTES) return null;
      if (api.findKeys(message) === 0 && messages.knowsModel()) return null;
      const picked = pickMembers(message, api.members);
      messages.read(picked, false);
      if (!(messages.endsAnswer?.() ?? api.finishTypes.includes(picked.string("type") ?? ""))) return null;
      const findings = messages.end(true);
      messages = messages.next?.() ?? api.start(facts);
      return {
        ...findings,
        extras: { ...findings.extras, ...route.extras },
        error: readProviderError(picked, false),
      };
    },
  };
}
