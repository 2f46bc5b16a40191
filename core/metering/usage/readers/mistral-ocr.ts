import { isObject } from "../../../values/json-object.ts";
import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { NO_TOKENS, readCount } from "../token-counts.ts";
import { unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN = { pages_processed: true, pages_processed_annotation: true, doc_size_bytes: true } as const;

/**
 * Mistral's OCR, at Mistral and on cloud platforms. It is billed per page, and annotated pages have their own price. There are
 * no tokens.
 *
 * - `usage_info.pages_processed` counts pages. If `pages_processed_annotation` is sent, it counts the annotated pages, and
 *   `pages_processed` is 0. Without it, all pages are annotated if the response has a `document_annotation`.
 * - Decision: if both counts are positive, no document states whether one includes the other. Both are kept as stated, and
 *   the call is unpriced.
 * - The annotation of individual images (`bbox_annotation_format`) is visible only in these counts.
 * - `doc_size_bytes` does not affect the price.
 * Source: docs.mistral.ai, "OCR" and "OCR 4.1" (prices), read 2026-11-21.
 */
export const mistralOcr = defineApiReader({
  members: ["model", "usage_info", "document_annotation"],
  keys: ["usage_info"],
  streamsByDefault: null,
  promptMembers: ["document"],
  // An annotation may be long. Only its presence matters.
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
