import * as v from "valibot";
import { BATCH_MAX_RECORDS } from "../sync/sync-run.ts";
import { count, maybe, name, text } from "./fields.ts";

/** Largest batch in bytes; a larger one is 413. Source: decisions, "Metadata batch": 4 MiB. */
export const BATCH_MAX_BYTES = 4_194_304;

/** Longest id that an outcome repeats, in characters. */
const MAX_ID_CHARACTERS = 200;

/**
 * `POST /v1/requests/batch`. The records are left unread, because each one is accepted or rejected by itself
 * (`parseMetadataRecord`).
 *
 * Decision: a record whose id is no text of a sane length makes the whole batch malformed (422), since no outcome could
 * name it; one whose id is a text but no UUID is rejected by that name.
 */
export const batchRequestSchema = v.object({
  daemon_version: name(64),
  machine_id: maybe(text(64)),
  records: v.pipe(
    v.array(v.looseObject({ request_id: name(MAX_ID_CHARACTERS) })),
    v.minLength(1, `must hold 1 to ${BATCH_MAX_RECORDS} records`),
    v.maxLength(BATCH_MAX_RECORDS, `must hold 1 to ${BATCH_MAX_RECORDS} records`),
  ),
});

/** A batch whose records are still unread. */
export type BatchRequest = v.InferOutput<typeof batchRequestSchema>;

/** The answer: one outcome for each record, said only after the commit. */
export const batchAnswerSchema = v.object({
  accepted: count,
  duplicates: count,
  rejected: v.array(v.object({ request_id: v.string(), code: v.string(), message: v.string() })),
});

/** What became of a batch. */
export type BatchAnswerBody = v.InferOutput<typeof batchAnswerSchema>;
