/**
 * The log of what was sent, in `<meter_home>/outbox/`: one JSON line for each batch and each body's envelope, chained
 * by hashes, in files that rotate.
 *
 * ```ts
 * import { createOutbox } from "./mod.ts";
 *
 * console.log(await createOutbox("/nonexistent/home").verify()); // { ok: true, entries: 0, firstSeq: 0, lastSeq: 0 }
 * ```
 *
 * @module
 */
export { createOutbox, OUTBOX_FILE_BYTES, OUTBOX_FILES, OUTBOX_FOLDER } from "./create-outbox.ts";
