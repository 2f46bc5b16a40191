/**
 * The payloads of the HTTP API: valibot schemas, their types, and the checks that a schema cannot express (strict Base64,
 * strict UTF-8, nesting depth, cursors). The daemon and the cloud share them. A field that an older sender omits is parsed
 * as `null`; a field that a newer sender adds is dropped.
 *
 * ```ts
 * import { parseMetadataRecord, parseWire, whoamiSchema } from "./mod.ts";
 *
 * const parsed = parseMetadataRecord({
 *   request_id: "01994b8e-7c00-7000-8000-000000000000",
 *   requested_at: "2026-11-21T10:00:00.000Z",
 *   provider: "openai",
 *   model: "gpt-5",
 * });
 * console.log(parsed.ok && parsed.value.error_class); // null
 * console.log(parseWire(whoamiSchema, {}).ok); // false
 * ```
 *
 * @module
 */
export {
  type BodyEnvelopeV021,
  type BodyUploadResponse,
  bodyEnvelopeSchema,
  bodyUploadResponseSchema,
  type DecodedBody,
  decodeBody,
} from "./body-envelope.ts";
export { type Whoami, whoamiSchema } from "./daemon.ts";
export { type DaemonTotals, daemonTotalsSchema } from "./daemon-totals.ts";
export { formatInstant, parseInstant } from "./instant.ts";
export { type Health, healthSchema, type Status, statusSchema } from "./loopback.ts";
export { type RequestItem, requestItemSchema, statisticsSchema } from "./loopback-data.ts";
export {
  BATCH_MAX_BYTES,
  type BatchRequest,
  type BatchResponse,
  batchRequestSchema,
  batchResponseSchema,
} from "./metadata-batch.ts";
export {
  type MetadataRecord,
  metadataRecordSchema,
  parseMetadataRecord,
} from "./metadata-record.ts";
export {
  type PairingPollRequest,
  type PairingPollResponse,
  type PairingStartRequest,
  type PairingStartResponse,
  pairingPollRequestSchema,
  pairingPollResponseSchema,
  pairingStartRequestSchema,
  pairingStartResponseSchema,
} from "./pairing.ts";
export { type Parsed, parseWire, type WireProblem, type WireSchema } from "./parse.ts";
export { type PublishedRates, publishedRatesSchema } from "./pricing-rates.ts";
export { PROBLEM_MEDIA_TYPE, type Problem, problemSchema } from "./problem-details.ts";
