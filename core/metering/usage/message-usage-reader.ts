import { type AnswerFacts, type ApiReader, NO_HEADER } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { pickMembers } from "./member-picker.ts";
import { findLimitError, readProviderError } from "./provider-error.ts";
import type { MeteredRoute } from "./route.ts";
import { MAX_MESSAGE_BYTES } from "./usage-reader.ts";
import type { ProviderError, UsageReport } from "./usage-report.ts";

/** Reads usage from the messages that a provider sends over one WebSocket. */
export interface MessageUsageReader {
  /**
   * Reads one complete, decompressed text message from the provider. Returns a report if the message ends a response,
   * otherwise null.
   */
  read(message: Uint8Array): UsageReport | null;
  /** Returns the report of the messages since the last response, for a session that ends without saying so. */
  end(): UsageReport;
}

/**
 * Creates a reader of the messages of one WebSocket, in order. A connection carries many responses, and each one makes a
 * record. The reader never throws and keeps only what a record needs. Messages longer than `MAX_MESSAGE_BYTES` are skipped.
 */
export function createMessageUsageReader(route: MeteredRoute): MessageUsageReader {
  const api: ApiReader = API_READERS[route.api];
  const facts: AnswerFacts = {
    provider: route.provider,
    routeModel: route.model,
    routeId: null,
    fetches: false,
    header: NO_HEADER,
  };
  let messages = api.start(facts);
  let error: ProviderError | null = null;
  let limitError: unknown = null;
  const report = (): UsageReport => {
    const findings = messages.end(true);
    messages = messages.next?.() ?? api.start(facts);
    const limits = limitError === null ? {} : { limitError };
    const found = { ...findings, extras: { ...findings.extras, ...route.extras }, error, ...limits };
    error = null;
    limitError = null;
    return found;
  };
  return {
    read(message) {
      if (message.length > MAX_MESSAGE_BYTES) return null;
      if (api.findKeys(message) === 0 && (messages.knowsModel?.() ?? true)) return null;
      const picked = pickMembers(message, api.members);
      messages.read(picked, false);
      error = readProviderError(picked, false);
      limitError = error === null ? null : findLimitError(picked);
      if (!(messages.endsAnswer?.() ?? api.finishTypes.includes(picked.string("type") ?? ""))) return null;
      return report();
    },
    end: report,
  };
}
