import { defineApi } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { json } from "./wire.ts";

/** Calls billed by page, text or image: Mistral's OCR, Vertex's `:predict`. */

const o = defineApi({
  folder: "mistral-ocr",
  provider: "mistral",
  host: "api.mistral.ai",
  path: "/v1/ocr",
  request: {
    model: "mistral-ocr-latest",
    document: { type: "document_url", document_url: "https://example.invalid/rain.pdf" },
  },
  source: DOCUMENTS.mistralOcr,
  id: null,
});
export const mistralOcr = o.cases;

const page = (index: number) => ({
  index,
  markdown: '# Rain "usage_info": {"pages_processed": 99}',
  images: [],
  dimensions: { dpi: 200, height: 2200, width: 1700 },
});
const ocr = (usage_info: unknown, rest: object = {}) => ({
  pages: [page(0), page(1), page(2)],
  model: "mistral-ocr-4-1",
  document_annotation: null,
  usage_info,
  ...rest,
});
const answered = { model: "mistral-ocr-4-1" };

o.add(
  "json",
  "Three pages at 4 USD for a thousand; the size of the document changes nothing.",
  json(ocr({ pages_processed: 3, doc_size_bytes: 30_720 })),
  {
    ...answered,
    complete: true,
    extras: { document_pages: 3 },
    cost: [["document pages", 3, "4000"]],
  },
);
o.add(
  "json-older-model",
  "The older model's pages cost half; no size is stated, and no annotation.",
  json({ pages: [page(0)], model: "mistral-ocr-2512", usage_info: { pages_processed: 1 } }),
  {
    model: "mistral-ocr-2512",
    complete: true,
    extras: { document_pages: 1 },
    cost: [["document pages", 1, "2000"]],
  },
);
o.add(
  "json-annotated",
  "A document that was annotated, with a count of pages alone: all of them are annotated pages.",
  json(ocr({ pages_processed: 3, doc_size_bytes: 30_720 }, { document_annotation: '{"about":"rain"}' })),
  {
    ...answered,
    complete: true,
    extras: { annotated_document_pages: 3 },
    cost: [["annotated document pages", 3, "5000"]],
  },
  { source: DOCUMENTS.mistralOcrAnnotations },
);
o.add(
  "json-annotated-count",
  "The annotated pages have a count of their own, and are not among the others.",
  json(
    ocr(
      { pages_processed: 0, pages_processed_annotation: 3, doc_size_bytes: 30_720 },
      { document_annotation: '{"about":"rain"}' },
    ),
  ),
  {
    ...answered,
    complete: true,
    extras: { annotated_document_pages: 3 },
    cost: [["annotated document pages", 3, "5000"]],
  },
  { source: DOCUMENTS.mistralOcrAnnotations },
);
o.add(
  "json-annotation-none",
  "A count of 0 annotated pages: the others are plain.",
  json(ocr({ pages_processed: 3, pages_processed_annotation: 0, doc_size_bytes: 30_720 })),
  {
    ...answered,
    complete: true,
    extras: { document_pages: 3 },
    cost: [["document pages", 3, "4000"]],
  },
  { source: DOCUMENTS.mistralOcrAnnotations },
);
o.add(
  "json-annotated-in-part",
  "Both counts: no document says whether the annotated pages stand in the others too, so that no price is known.",
  json(
    ocr({ pages_processed: 3, pages_processed_annotation: 2 }, { document_annotation: '{"about":"rain"}' }),
  ),
  { ...answered, complete: false, extras: { stated_pages: 3, stated_annotated_pages: 2 } },
  { source: DOCUMENTS.mistralOcrAnnotations },
);
o.add("json-usage-missing", "No usage: unknown.", json(ocr(undefined)), answered);
const wholeOcr = JSON.stringify(ocr({ pages_processed: 3, doc_size_bytes: 30_720 }));
o.add(
  "json-cut",
  "Cut within the usage, which stands last: unknown.",
  json(wholeOcr, { cutAt: wholeOcr.length - 20 }),
  { ...answered, error: ["network", true, null] },
);
o.add(
  "error-unauthorized",
  "A refusal is not billed by the page.",
  json({ detail: "Unauthorized" }, { status: 401 }),
  { error: ["auth", false, null] },
);
o.add(
  "azure",
  "The same API on Azure, for whose pages the list has no price.",
  json({ ...ocr({ pages_processed: 0, pages_processed_annotation: 1 }), model: "mistral-document-ai-2512" }),
  {
    provider: "azure",
    model: "mistral-document-ai-2512",
    complete: true,
    extras: { annotated_document_pages: 1 },
  },
  {
    source: DOCUMENTS.mistralOcrAnnotations,
    host: "acme.services.ai.azure.com",
    path: "/providers/mistral/azure/ocr",
    request: { model: "mistral-document-ai-2512" },
  },
);

const p = defineApi({
  folder: "vertex-predict",
  provider: "vertex",
  host: "aiplatform.googleapis.com",
  path: "/v1/projects/p-1/locations/global/publishers/google/models/gemini-embedding-001:predict",
  pathModel: "gemini-embedding-001",
  request: { instances: [{ content: "rain", task_type: "RETRIEVAL_QUERY" }] },
  source: DOCUMENTS.vertexTextEmbeddings,
  id: null,
});
export const vertexPredict = p.cases;

const path = (model: string) =>
  `/v1/projects/p-1/locations/us-central1/publishers/google/models/${model}:predict`;
const embedding = (statistics?: object) => ({ embeddings: { values: [0.25, -0.5, 1e-3], statistics } });
const regional = {
  host: "us-central1-aiplatform.googleapis.com",
  path: path("text-embedding-005"),
};
const older = { model: "text-embedding-005", requestedModel: "text-embedding-005" };

p.add(
  "embedding",
  "A text's tokens stand in its statistics.",
  json({ predictions: [embedding({ truncated: false, token_count: 6 })] }),
  { tokens: { prompt: 6, completion: 0 }, cost: RATES.geminiEmbedding },
);
p.add(
  "embedding-several",
  "Several texts: the input is the sum. The older model is billed by characters, for which the list has no price.",
  json({
    predictions: [
      embedding({ token_count: 6, truncated: false }),
      embedding({ token_count: 2048, truncated: true }),
      embedding({ token_count: 1, truncated: false }),
    ],
    metadata: { billableCharacterCount: 9000 },
  }),
  {
    ...older,
    tokens: { prompt: 2055, completion: 0 },
    extras: { billable_characters: 9000, regional_endpoint: 1 },
  },
  regional,
);
p.add(
  "embedding-one-unstated",
  "One of the texts states no tokens: their sum is unknown.",
  json({ predictions: [embedding({ token_count: 6, truncated: false }), embedding()] }),
  { ...older, extras: { regional_endpoint: 1 } },
  regional,
);
const texts = json({
  predictions: [
    embedding({ token_count: 6, truncated: false }),
    embedding({ token_count: 8, truncated: false }),
  ],
});
p.add(
  "embedding-cut",
  "Cut within the second text: what was stated until then stands, as not complete.",
  { ...texts, cutAt: 130 },
  {
    tokens: { prompt: 6, completion: 0 },
    complete: false,
    cost: RATES.geminiEmbedding,
    error: ["network", true, null],
  },
);
p.add(
  "error",
  "An error of Google's form.",
  json({ error: { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" } }, { status: 429 }),
  { error: ["rate_limit", true, "RESOURCE_EXHAUSTED"] },
  { source: DOCUMENTS.vertexErrors },
);
p.add(
  "images",
  "Images are billed by their number: two were made, one was kept back. The list has no price for them.",
  json({
    predictions: [
      { mimeType: "image/png", bytesBase64Encoded: "iVBORw0KGgo=" },
      { bytesBase64Encoded: "iVBORw0KGgo=", mimeType: "image/png", prompt: "Wet rain" },
      { raiFilteredReason: "Kept back." },
    ],
  }),
  {
    model: "imagen-4.0-generate-001",
    requestedModel: "imagen-4.0-generate-001",
    complete: true,
    extras: { generated_images: 2, regional_endpoint: 1 },
  },
  {
    source: DOCUMENTS.vertexImages,
    host: regional.host,
    path: path("imagen-4.0-generate-001"),
    request: { instances: [{ prompt: "Wet rain" }], parameters: { sampleCount: 3 } },
  },
);
