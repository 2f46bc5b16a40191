import * as v from "valibot";
import { count, maybe, name, text } from "./fields.ts";

/** Maximum number of records in a batch. */
export const BATCH_MAX_RECORDS = 500;

/** Maximum size of a batch in bytes; a larger one gets a 413. Source: docs/specification.md#metadata-batch: 4 MiB. */
export const BATCH_MAX_BYTES = 4_194_304;

/** Maximum length of an id that an outcome repeats, in characters. */
const MAX_ID_CHARACTERS = 200;

const idEntries = { request_id: name(MAX_ID_CHARACTERS) };
const identified = v.looseObject(idEntries);
const onlyId = v.object(idEntries);

/** Like `identified`, but its output is the record itself: copying 500 records takes longer than checking them. */
const uncopied: v.GenericSchema<v.InferInput<typeof identified>, v.InferOutput<typeof identified>> = {
  ...identified,
  "~run"(dataset, config) {
    const { value } = dataset;
    const checked = onlyId["~run"](dataset, config);
    return checked.issues === undefined ? { typed: true, value: value as { request_id: string } } : checked;
  },
};

/**
 * The request of `POST /v1/requests/batch`. This schema does not parse the records: each one is accepted or rejected
 * individually (`parseMetadataRecord`).
 *
 * Decision: a record whose id is not a text of acceptable length makes the whole batch malformed (422), because no outcome
 * could refer to it. A record whose id is a text but not a UUID is rejected under that id.
 */
export const batchRequestSchema = v.object({
  daemon_version: name(64),
  machine_id: maybe(text(64)),
  records: v.pipe(
    v.array(uncopied),
    v.minLength(1, `must contain 1 to ${BATCH_MAX_RECORDS} records`),
    v.maxLength(BATCH_MAX_RECORDS, `must contain 1 to ${BATCH_MAX_RECORDS} records`),
  ),
});

/** A batch whose records are not parsed yet. */
export type BatchRequest = v.InferOutput<typeof batchRequestSchema>;

/** The response to a batch: the outcome of every record, sent after the commit. */
export const batchResponseSchema = v.object({
  accepted: count,
  duplicates: count,
  rejected: v.array(v.object({ request_id: v.string(), code: v.string(), message: v.string() })),
});

/** The outcomes of a batch. */
export type BatchResponse = v.InferOutput<typeof batchResponseSchema>;
