import type { PriceBook } from "../../../core/pricing/price-book.ts";
import type { BatchRequest, BatchResponse } from "../../../core/wire/metadata-batch.ts";
import { parseMetadataRecord } from "../../../core/wire/metadata-record.ts";
import { withoutErased } from "../../store/erasures.ts";
import { ingest } from "../../store/ingest.ts";
import { saveDaemonVersion } from "../../store/machines.ts";
import { createRowConverter, type Sender, type StoredRequest } from "../../store/stored-request.ts";
import type { ApiHandlers } from "../api-call.ts";

/** Messages by the reason why a record was not stored. */
const REJECTIONS = {
  not_storable: "the database cannot store one of the values",
  not_the_sender: "another machine or person in the workspace already sent a request with this id",
} as const;

/** The route that stores records. */
export const batchHandlers = {
  /**
   * Answers with one outcome per record, after the commit. The key alone decides who the sender is: fields with such names in
   * the payload are ignored. Source: docs/specification.md#metadata-batch.
   */
  "POST /v1/requests/batch": async ({ parts, key, body, answer }) => {
    const { book } = await parts.rates.current();
    const sender: Sender = {
      machineId: key.machine?.id ?? null,
      userId: key.userId,
      receivedAt: parts.clock.now(),
    };
    const { rows, spellings, rejected } = readRecords(body.records, sender, book);
    await saveDaemonVersion(parts.db, key, body.daemon_version);
    const erasedAt = key.workspace.promptsErasedAt;
    const isOld = erasedAt !== null && rows.some(({ requested_at }) => Date.parse(requested_at) < erasedAt);
    const stored = isOld ? await withoutErased(parts.db, key.workspaceId, rows) : rows;
    const outcomes = await ingest(parts.db, key.workspaceId, stored, book, parts.sha256);
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome !== "not_storable" && outcome !== "not_the_sender") continue;
      rejected.push({ request_id: spellings[at] as string, code: outcome, message: REJECTIONS[outcome] });
    }
    const accepted = outcomes.filter((outcome) => outcome === "accepted").length;
    const duplicates = outcomes.filter((outcome) => outcome === "duplicate").length;
    if (accepted > 0) parts.budgetWatch.note({ workspaceId: key.workspaceId, name: key.workspace.name });
    parts.metrics?.recordsIngested({ accepted, duplicates, rejected: rejected.length });
    return answer(200, { accepted, duplicates, rejected });
  },
} satisfies Partial<ApiHandlers>;

interface ReadRecords {
  readonly rows: StoredRequest[];
  /** Each row's id as the client spelled it. */
  readonly spellings: string[];
  readonly rejected: BatchResponse["rejected"];
}

/** Parses and prices the records of a batch; those that do not match the schema are rejected one by one. */
function readRecords(records: BatchRequest["records"], sender: Sender, book: PriceBook): ReadRecords {
  const read: ReadRecords = { rows: [], spellings: [], rejected: [] };
  const toRow = createRowConverter(sender, book);
  for (const record of records) {
    const parsed = parseMetadataRecord(record);
    if (parsed.ok) {
      read.rows.push(toRow(parsed.value));
      read.spellings.push(record.request_id);
    } else {
      const [first] = parsed.problems;
      const message = first === undefined ? "does not match the schema" : `${first.field}: ${first.problem}`;
      read.rejected.push({ request_id: record.request_id, code: "invalid_record", message });
    }
  }
  return read;
}
