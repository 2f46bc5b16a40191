import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject, NO_TOKENS, readCount } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN = { pages_processed: true, pages_processed_annotation: true, doc_size_bytes: true } as const;

/**
 * Mistral's OCR, there and on the clouds that sell it: billed by the page, and a page that was annotated too at a price of
 * its own instead. There are no tokens.
 *
 * - `usage_info.pages_processed` counts pages; `pages_processed_annotation`, where it is sent, those with annotations, and
 *   then the former is 0. An answer without the latter was annotated as a whole where it has a `document_annotation`.
 * - Decision: where both are above 0, no document says whether the annotated pages stand in the others too. Both counts
 *   are kept as stated, and the call is unpriced.
 * - The annotation of single images (`bbox_annotation_format`) shows in these counts alone.
 * - `doc_size_bytes` changes no price.
 * Source: docs.mistral.ai, "OCR" and "OCR 4.1" (prices), read 2026-11-21.
 */
export const mistralOcr = defineApiReader({
  members: ["model", "usage_info", "document_annotation"],
  keys: ["usage_info"],
  streamsByDefault: null,
  promptMembers: ["document"],
  // The annotation itself may be long; only that there is one is of use.
  maxMemberBytes: 1024 * 1024,
  start: startOcr,
});

function startOcr(): MessageReader {
  let model: string | null = null;
  let usage: Readonly<Record<string, unknown>> = {};
  let isAnnotated = false;
  let isClosed = false;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model") ?? model;
      isAnnotated = Boolean(message.value("document_annotation"));
      const stated = message.value("usage_info");
      if (isObject(stated)) usage = stated;
      isClosed = message.closed;
    },
    end() {
      const pages = readCount(usage.pages_processed);
      const annotated = readCount(usage.pages_processed_annotation);
      const extras: Record<string, number> = {};
      const isClear = pages === null || pages === 0 || annotated === null || annotated === 0;
      if (!isClear) {
        setExtra(extras, "stated_pages", pages);
        setExtra(extras, "stated_annotated_pages", annotated);
      } else if (annotated === null && isAnnotated) setExtra(extras, "annotated_document_pages", pages);
      else {
        setExtra(extras, "document_pages", pages);
        setExtra(extras, "annotated_document_pages", annotated);
      }
      return {
        tokens: NO_TOKENS,
        tokensComplete: isClear && isClosed && (pages !== null || annotated !== null),
        model,
        responseId: null,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
